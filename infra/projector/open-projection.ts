import type { ClientBase } from 'pg';
import type { Position } from '../../domain/event.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { openProjectionWriter, type ProjectionWriter, type WriterParts } from './projection-writer.ts';
import { createSchema, dropSchema, shapeOf } from './schema.ts';

/** Returns the name of the schema in which a projection is rebuilt. In the meantime, queries read the live schema. */
export const shadowSchemaOf = (name: string): string => `${name}__next`;

type Checkpoint = { name: string; version: number; shape: string; commit_position: string; prepare_position: string };

/**
 * The writers of a projection. `live` is null if the live tables have other definitions than those of this version;
 * they can then be read, but not written. `shadow` is null if no rebuild is in progress.
 */
export type OpenedProjection = { readonly live: ProjectionWriter | null; readonly shadow: ProjectionWriter | null };

/**
 * The result if a later version of the projection has written the tables. `newer` is the number of that version. This
 * program must not write the tables.
 */
export type NewerVersion = { readonly newer: number };

const checkpointsOf = async (db: ClientBase, name: string): Promise<Map<string, Checkpoint>> => {
  const { rows } = await db.query<Checkpoint>(
    'select name, version, shape, commit_position::text, prepare_position::text from annals.checkpoints where name = any($1::text[])',
    [[name, shadowSchemaOf(name)]],
  );
  return new Map(rows.map((row) => [row.name, row]));
};

/** Returns whether all tables of a projection exist. Some are missing if an operator has dropped the schema. */
const hasAllTables = async (db: ClientBase, { name, tables }: AnyProjection): Promise<boolean> => {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::integer as count from pg_tables where schemaname = $1 and tablename = any($2::text[])',
    [name, tables.map((table) => table.name)],
  );
  return rows[0]!.count === tables.length;
};

const positionOf = ({ commit_position, prepare_position }: Checkpoint): Position | null =>
  commit_position === '-1' ? null : { commit: BigInt(commit_position), prepare: BigInt(prepare_position) };

const blockedStreamsOf = async (db: ClientBase, name: string): Promise<string[]> => {
  const { rows } = await db.query<{ stream: string }>('select distinct stream from annals.parked where projection = $1', [name]);
  return rows.map(({ stream }) => stream);
};

/** Returns a writer that continues at a checkpoint. The name of the checkpoint is also the name of the schema. */
const writerAt = async (
  db: ClientBase,
  projection: AnyProjection,
  checkpoint: Checkpoint,
  parts: WriterParts,
): Promise<ProjectionWriter> => {
  const { name } = checkpoint;
  const start = { position: positionOf(checkpoint), blockedStreams: await blockedStreamsOf(db, name) };
  return openProjectionWriter(name, projection, start, parts);
};

const emptyWriter = async (db: ClientBase, name: string, projection: AnyProjection, parts: WriterParts): Promise<ProjectionWriter> => {
  await createSchema(db, name, projection);
  return openProjectionWriter(name, projection, { position: null, blockedStreams: [] }, parts);
};

/** Starts a rebuild: creates the projection's empty shadow schema and returns its writer. */
export const createShadow = (db: ClientBase, projection: AnyProjection, parts: WriterParts): Promise<ProjectionWriter> =>
  emptyWriter(db, shadowSchemaOf(projection.name), projection, parts);

/**
 * Opens the writers of a projection. If it has no schema, one is created. An interrupted rebuild is continued. A
 * rebuild is started if the stored version is older or has other table definitions. During a rebuild, the live rows are
 * still updated if their tables have the same definitions.
 */
export const openProjection = async (
  db: ClientBase,
  projection: AnyProjection,
  parts: WriterParts,
): Promise<OpenedProjection | NewerVersion> => {
  const { name, version } = projection;
  const shape = shapeOf(projection);
  const checkpoints = await checkpointsOf(db, name);
  const stored = checkpoints.get(name);
  if (!stored || (stored.shape === shape && !(await hasAllTables(db, projection)))) {
    await dropSchema(db, shadowSchemaOf(name));
    return { live: await emptyWriter(db, name, projection, parts), shadow: null };
  }
  if (stored.version > version) return { newer: stored.version };
  const live = stored.shape === shape ? await writerAt(db, projection, stored, parts) : null;
  const interrupted = checkpoints.get(shadowSchemaOf(name));
  if (interrupted && interrupted.version === version && interrupted.shape === shape)
    return { live, shadow: await writerAt(db, projection, interrupted, parts) };
  if (interrupted) await dropSchema(db, shadowSchemaOf(name));
  return { live, shadow: stored.version === version && live ? null : await createShadow(db, projection, parts) };
};
