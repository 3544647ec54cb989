import type { ClientBase, PoolClient } from 'pg';
import { tokenOf } from '../../domain/event.ts';
import { quoted } from '../postgres/pool.ts';
import { CHECKPOINT_CHANNEL } from './commit-batch.ts';
import { type Comparison, compare } from './compare-tables.ts';
import type { EventProcessors } from './event-processors.ts';
import { endRequests, REBUILDS } from './maintenance-requests.ts';
import { shadowSchemaOf } from './open-projection.ts';
import type { ProjectionWriter } from './projection-writer.ts';
import type { Projector, RunningProjection } from './projector.ts';
import { dropSchema, shapeOf, withSchemaLock } from './schema.ts';

/** How the new rows compare with the old ones (null: they can not be laid side by side), and how many events they were made of. */
export type Compared = { readonly comparison: Comparison | null; readonly events: number };

/** How a rebuild ended: the rows that differed from the old ones, and whether the new ones took their place. */
export type RebuildResult = Compared & { readonly at: string; readonly promoted: boolean };

const retiredOf = (name: string): string => `${name}__old`;

/** The new schema takes the old one's name, in one transaction that touches no table: nobody waits and nobody sees less. */
const rename = (db: ClientBase, name: string, outcome: RebuildResult): Promise<unknown> =>
  withSchemaLock(db, async () => {
    const next = shadowSchemaOf(name);
    await db.query(`drop schema if exists ${quoted(retiredOf(name))} cascade`);
    await db.query(`alter schema ${quoted(name)} rename to ${quoted(retiredOf(name))}`);
    await db.query(`alter schema ${quoted(next)} rename to ${quoted(name)}`);
    await db.query('delete from annals.checkpoints where name = $1', [name]);
    await db.query('update annals.checkpoints set name = $1 where name = $2', [name, next]);
    await db.query('delete from annals.parked where projection = $1', [name]);
    await db.query('update annals.parked set projection = $1 where projection = $2', [name, next]);
    // Whoever dies behind this has nothing left to tell: what was asked is answered where it happens, and is not begun again.
    await endRequests(db, name, REBUILDS, outcome);
  });

const tell = (db: ClientBase, member: ProjectionWriter): Promise<unknown> => {
  const position = member.position();
  return db.query('select pg_notify($1, $2)', [CHECKPOINT_CHANNEL, position ? `${tokenOf(position)} ${member.name}` : '']);
};

/** Runs between two batches of the live lane: from the next one on, only what was built anew is written. */
const promote = async (
  members: readonly ProjectionWriter[],
  db: PoolClient,
  name: string,
  outcome: RebuildResult,
): Promise<readonly ProjectionWriter[]> => {
  const next = members.find((member) => member.name === shadowSchemaOf(name))!;
  await rename(db, name, outcome);
  const promoted = next.renamed(name);
  members.find((member) => member.name === name)?.close();
  await tell(db, promoted);
  return [...members.filter((member) => member !== next && member.name !== name), promoted];
};

const together = (lanes: EventProcessors, name: string): boolean => {
  const live = lanes.live();
  const names = new Set(live?.members().map((member) => member.name));
  const kept = lanes.laneOf(name);
  return names.has(shadowSchemaOf(name)) && (kept === null || kept === live);
};

/** Whether the old rows have the shape of the new ones, so that they can be laid side by side. */
const comparable = async (db: ClientBase, { projection }: RunningProjection): Promise<boolean> => {
  const { rows } = await db.query<{ shape: string }>('select shape from annals.checkpoints where name = $1', [projection.name]);
  return rows[0]?.shape === shapeOf(projection);
};

/** How the new rows compare with the old ones, once both are written together; null: it has not come that far. */
export const compareRebuilt = async ({ lanes, pool }: Projector, one: RunningProjection): Promise<Compared | null> => {
  const { name, tables } = one.projection;
  if (!lanes.live() || !together(lanes, name)) return null;
  const db = await pool.connect();
  try {
    const comparison = lanes.laneOf(name) && (await comparable(db, one)) ? await compare(db, tables, name, shadowSchemaOf(name)) : null;
    const next = lanes.laneOf(shadowSchemaOf(name))?.members();
    return { comparison, events: next?.find((member) => member.name === shadowSchemaOf(name))?.events() ?? 0 };
  } finally {
    db.release();
  }
};

/**
 * Ends the rebuild of a projection whose new rows have caught up: compares where both are written together, then promotes.
 * With `keepIfDifferent` the old rows stay where they differ. null: it has not come that far.
 */
export const finishRebuild = async (work: Projector, one: RunningProjection, keepIfDifferent: boolean): Promise<RebuildResult | null> => {
  const { lanes, pool, logger } = work;
  const { name } = one.projection;
  const compared = await compareRebuilt(work, one);
  const live = lanes.live();
  if (!compared || !live) return null;
  const { comparison } = compared;
  const at = new Date().toISOString();
  if (keepIfDifferent && comparison && comparison.differing > 0) {
    const db = await pool.connect();
    await abortRebuild(work, db, name).finally(() => db.release());
    return { ...compared, at, promoted: false };
  }
  const rebuilt: RebuildResult = { ...compared, at, promoted: true };
  await live.between(async (members, client) => ({ members: await promote(members, client, name, rebuilt), result: null }));
  logger.info({ name, differing: comparison?.differing ?? null }, 'a rebuilt projection took the place of the old one');
  await pool.query(`drop schema if exists ${quoted(retiredOf(name))} cascade`).catch(() => {});
  return rebuilt;
};

/** Gives a rebuild up: the new rows go, the old ones were never touched. */
export const abortRebuild = async ({ lanes }: Pick<Projector, 'lanes'>, db: ClientBase, name: string): Promise<void> => {
  await lanes.take(new Set([shadowSchemaOf(name)]));
  await dropSchema(db, shadowSchemaOf(name));
};
