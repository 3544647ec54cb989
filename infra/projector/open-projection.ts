import type { ClientBase } from 'pg';
import type { Position } from '../../domain/event.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { openProjectionWriter, type ProjectionWriter } from './projection-writer.ts';
import type { RowBudget } from './row-cache.ts';
import { createSchema, dropSchema, shapeOf } from './schema.ts';

/** The schema in which a projection is built anew beside the live one. */
export const shadowSchemaOf = (name: string): string => `${name}__next`;

type Checkpoint = { name: string; version: number; shape: string; commit_position: string; prepare_position: string };

/** What there is of a projection: the member that keeps the live rows (null: they serve as they are), the one that is built anew. */
export type Opened = { readonly main: ProjectionWriter | null; readonly next: ProjectionWriter | null };

/** The tables are of a later version of the program, which alone may write them. */
export type NewerVersion = { readonly newer: number };

const checkpointsOf = async (db: ClientBase, name: string): Promise<Map<string, Checkpoint>> => {
  const { rows } = await db.query<Checkpoint>(
    'select name, version, shape, commit_position::text, prepare_position::text from annals.checkpoints where name = any($1::text[])',
    [[name, shadowSchemaOf(name)]],
  );
  return new Map(rows.map((row) => [row.name, row]));
};

/** Whether the tables are all there: somebody may have dropped a schema to have it filled again. */
const isWhole = async (db: ClientBase, name: string, { tables }: AnyProjection): Promise<boolean> => {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::integer as count from pg_tables where schemaname = $1 and tablename = any($2::text[])',
    [name, tables.map((table) => table.name)],
  );
  return rows[0]!.count === tables.length;
};

const positionOf = ({ commit_position, prepare_position }: Checkpoint): Position | null =>
  commit_position === '-1' ? null : { commit: BigInt(commit_position), prepare: BigInt(prepare_position) };

const blockedOf = async (db: ClientBase, name: string): Promise<string[]> => {
  const { rows } = await db.query<{ stream: string }>('select distinct stream from annals.parked where projection = $1', [name]);
  return rows.map(({ stream }) => stream);
};

const memberAt = async (
  db: ClientBase,
  name: string,
  projection: AnyProjection,
  checkpoint: Checkpoint,
  room: RowBudget,
): Promise<ProjectionWriter> =>
  openProjectionWriter(name, projection, { position: positionOf(checkpoint), blocked: await blockedOf(db, name) }, room);

const emptyMember = async (db: ClientBase, name: string, projection: AnyProjection, room: RowBudget): Promise<ProjectionWriter> => {
  await createSchema(db, name, projection);
  return openProjectionWriter(name, projection, { position: null, blocked: [] }, room);
};

/** Begins to build a projection anew beside the live one. */
export const openNext = (db: ClientBase, projection: AnyProjection, room: RowBudget): Promise<ProjectionWriter> =>
  emptyMember(db, shadowSchemaOf(projection.name), projection, room);

/**
 * Opens a projection for its one writer: makes it where there is none, takes an interrupted rebuild up again, and begins one where the
 * stored version is another. Of an old shape the rows stand still until then, of the same shape they go on.
 */
export const openProjection = async (db: ClientBase, projection: AnyProjection, room: RowBudget): Promise<Opened | NewerVersion> => {
  const { name, version } = projection;
  const shape = shapeOf(projection);
  const found = await checkpointsOf(db, name);
  const held = found.get(name);
  if (!held || (held.shape === shape && !(await isWhole(db, name, projection)))) {
    await dropSchema(db, shadowSchemaOf(name));
    return { main: await emptyMember(db, name, projection, room), next: null };
  }
  if (held.version > version) return { newer: held.version };
  const main = held.shape === shape ? await memberAt(db, name, projection, held, room) : null;
  const begun = found.get(shadowSchemaOf(name));
  if (begun && begun.version === version && begun.shape === shape)
    return { main, next: await memberAt(db, shadowSchemaOf(name), projection, begun, room) };
  if (begun) await dropSchema(db, shadowSchemaOf(name));
  return { main, next: held.version === version && main ? null : await openNext(db, projection, room) };
};
