import type { ClientBase, PoolClient } from 'pg';
import { tokenOf } from '../../domain/event.ts';
import { quoteIdentifier } from '../postgres/pool.ts';
import { CHECKPOINT_CHANNEL } from './commit-batch.ts';
import { compareTables } from './compare-tables.ts';
import type { EventProcessors } from './event-processors.ts';
import { completeRequests, REBUILD_KINDS } from './maintenance-requests.ts';
import { shadowSchemaOf } from './open-projection.ts';
import type { ProjectionWriter } from './projection-writer.ts';
import type { RebuildComparison, RebuildResult } from './rebuild-result.ts';
import type { Projector, RunningProjection } from './running-projection.ts';
import { dropSchema, shapeOf, withSchemaLock } from './schema.ts';

const retiredSchemaOf = (name: string): string => `${name}__old`;

/**
 * Replaces the live rows by the rebuilt rows. In one transaction, renames the live schema, and gives its old name to
 * the shadow schema. No row is copied, so no query has to wait. Each query sees either only old rows or only new rows.
 */
const swapSchemas = (db: ClientBase, name: string, outcome: RebuildResult): Promise<unknown> =>
  withSchemaLock(db, async () => {
    const shadow = shadowSchemaOf(name);
    await db.query(`drop schema if exists ${quoteIdentifier(retiredSchemaOf(name))} cascade`);
    await db.query(`alter schema ${quoteIdentifier(name)} rename to ${quoteIdentifier(retiredSchemaOf(name))}`);
    await db.query(`alter schema ${quoteIdentifier(shadow)} rename to ${quoteIdentifier(name)}`);
    await db.query('delete from annals.checkpoints where name = $1', [name]);
    await db.query('update annals.checkpoints set name = $1 where name = $2', [name, shadow]);
    await db.query('delete from annals.parked where projection = $1', [name]);
    await db.query('update annals.parked set projection = $1 where projection = $2', [name, shadow]);
    // The requests are completed in the same transaction. Otherwise, a process that crashes right after the swap would
    // start the rebuild again.
    await completeRequests(db, name, REBUILD_KINDS, outcome);
  });

const notifyPosition = (db: ClientBase, writer: ProjectionWriter): Promise<unknown> => {
  const position = writer.position();
  return db.query('select pg_notify($1, $2)', [CHECKPOINT_CHANNEL, position ? `${tokenOf(position)} ${writer.name}` : '']);
};

/**
 * Promotes a rebuild between two batches of the live processor. After that, only the rebuilt rows are written.
 * @returns the writers that remain for the processor
 */
const promote = async (
  writers: readonly ProjectionWriter[],
  db: PoolClient,
  name: string,
  outcome: RebuildResult,
): Promise<readonly ProjectionWriter[]> => {
  const shadow = writers.find((writer) => writer.name === shadowSchemaOf(name))!;
  await swapSchemas(db, name, outcome);
  const promoted = shadow.renamedTo(name);
  writers.find((writer) => writer.name === name)?.close();
  await notifyPosition(db, promoted);
  return [...writers.filter((writer) => writer !== shadow && writer.name !== name), promoted];
};

/**
 * Returns whether the rebuilt rows are up to date, so that they can be compared with the live rows: the live processor
 * writes them, and no other processor writes the live rows.
 */
const areWrittenTogether = (processors: EventProcessors, name: string): boolean => {
  const live = processors.live();
  const names = new Set(live?.writers().map((writer) => writer.name));
  const old = processors.processorOf(name);
  return names.has(shadowSchemaOf(name)) && (old === null || old === live);
};

/** Returns whether the old tables and the rebuilt tables have the same definitions, so that their rows can be compared. */
const isComparable = async (db: ClientBase, { projection }: RunningProjection): Promise<boolean> => {
  const { rows } = await db.query<{ shape: string }>('select shape from annals.checkpoints where name = $1', [projection.name]);
  return rows[0]?.shape === shapeOf(projection);
};

/** Compares the rebuilt rows with the old rows. @returns null if the rebuild has not caught up yet */
export const compareRebuild = async ({ processors, pool }: Projector, running: RunningProjection): Promise<RebuildComparison | null> => {
  const { name, tables, version } = running.projection;
  const shadow = shadowSchemaOf(name);
  if (!processors.live() || !areWrittenTogether(processors, name)) return null;
  const db = await pool.connect();
  try {
    const comparison =
      processors.processorOf(name) && (await isComparable(db, running)) ? await compareTables(db, tables, name, shadow) : null;
    const writers = processors.processorOf(shadow)?.writers();
    return { comparison, events: writers?.find((writer) => writer.name === shadow)?.eventCount() ?? 0, version };
  } finally {
    db.release();
  }
};

/**
 * Compares the rebuilt rows of a projection with the old rows, and promotes them. If rows differ and `abortIfDifferent`
 * is true, aborts the rebuild instead.
 * @returns null if the rebuild has not caught up yet
 */
export const finishRebuild = async (
  projector: Projector,
  running: RunningProjection,
  abortIfDifferent: boolean,
): Promise<RebuildResult | null> => {
  const { processors, pool, logger } = projector;
  const { name } = running.projection;
  const compared = await compareRebuild(projector, running);
  const live = processors.live();
  if (!compared || !live) return null;
  const { comparison } = compared;
  const at = new Date().toISOString();
  if (abortIfDifferent && comparison && comparison.differing > 0) {
    const db = await pool.connect();
    await abortRebuild(projector, db, name).finally(() => db.release());
    return { ...compared, at, promoted: false };
  }
  const result: RebuildResult = { ...compared, at, promoted: true };
  await live.betweenBatches(async (writers, client) => ({ writers: await promote(writers, client, name, result), result: null }));
  logger.info({ name, differing: comparison?.differing ?? null }, 'a rebuilt projection was promoted');
  await pool.query(`drop schema if exists ${quoteIdentifier(retiredSchemaOf(name))} cascade`).catch(() => {});
  return result;
};

/** Aborts a rebuild and drops the rebuilt rows. The live rows do not change. */
export const abortRebuild = async ({ processors }: Pick<Projector, 'processors'>, db: ClientBase, name: string): Promise<void> => {
  await processors.remove(new Set([shadowSchemaOf(name)]));
  await dropSchema(db, shadowSchemaOf(name));
};
