import type { ClientBase, Pool } from 'pg';
import type { Operator, RebuildDecision } from '../../commands/operations/projection-maintenance.ts';
import { REQUEST_CHANNEL, type RequestKind } from './maintenance-requests.ts';

const REBUILD_REQUESTS = ['rebuild', 'rebuild-if-equal', 'rebuild-held'] as const satisfies RequestKind[];
/** The number of rebuilds that the history of a projection shows. */
const MAX_REBUILDS = 100;
/**
 * The first key of an advisory lock; the second key is the projection. The lock is held while an operator's request for
 * a rebuild, or to promote or abort one, is stored. So such requests for the same projection are stored one after
 * another.
 */
const OPERATORS_LOCK = 720_411;

type Querier = Pick<ClientBase, 'query'> | Pool;

/**
 * A request that started a rebuild. `decision` (`promote` or `abort`) is how the rebuild has ended or will end; null
 * while nobody has requested this. `done_at` is null while the rebuild is open.
 */
export type RebuildRequest = {
  readonly id: number;
  readonly projection: string;
  readonly asked_at: string;
  readonly asked_by: Operator | null;
  readonly done_at: string | null;
  /** The recorded comparison or result; null if none has been recorded. */
  readonly outcome: unknown;
  readonly decision: RebuildDecision | null;
  readonly decided_by: Operator | null;
  readonly reason: string | null;
};

// Not every stored decision counts. If the worker restarted before it had carried out a decision, the rebuild starts
// again, and the decision is void.
const SELECT_REBUILD = `
  select r.id::double precision as id, r.projection, r.asked_at, r.asked_by, r.done_at, r.outcome, d.kind as decision, d.asked_by as decided_by, d.reason
  from annals.requests r left join lateral (
    select kind, asked_by, reason from annals.requests decision
    where decision.rebuild = r.id and (decision.done_at is null or r.done_at is not null) order by decision.id desc limit 1
  ) d on true`;

export const rebuildRequest = async (db: Querier, projection: string, id: number): Promise<RebuildRequest | null> => {
  const { rows } = await db.query<RebuildRequest>(`${SELECT_REBUILD} where r.id = $1 and r.projection = $2 and r.kind = any($3::text[])`, [
    id,
    projection,
    REBUILD_REQUESTS,
  ]);
  return rows[0] ?? null;
};

/** Returns the last 100 rebuilds of a projection, the newest first. */
export const rebuildRequests = async (db: Querier, projection: string): Promise<RebuildRequest[]> => {
  const { rows } = await db.query<RebuildRequest>(
    `${SELECT_REBUILD} where r.projection = $1 and r.kind = any($2::text[]) order by r.id desc limit ${MAX_REBUILDS}`,
    [projection, REBUILD_REQUESTS],
  );
  return rows;
};

/** Runs `work` in a transaction. In the meantime, no other process can request a rebuild of the projection, or decide about one. */
const inTurn = async <T>(pool: Pool, projection: string, work: (db: ClientBase) => Promise<T>): Promise<T> => {
  const db = await pool.connect();
  try {
    await db.query('begin');
    await db.query('select pg_advisory_xact_lock($1, hashtext($2))', [OPERATORS_LOCK, projection]);
    const result = await work(db);
    await db.query('commit');
    return result;
  } catch (error) {
    await db.query('rollback').catch(() => {});
    throw error;
  } finally {
    db.release();
  }
};

const openRebuildId = async (db: ClientBase, projection: string): Promise<number | null> => {
  const { rows } = await db.query<{ id: number }>(
    'select id::double precision as id from annals.requests where projection = $1 and kind = any($2::text[]) and done_at is null order by requests.id limit 1',
    [projection, REBUILD_REQUESTS],
  );
  return rows[0]?.id ?? null;
};

/** Requests a rebuild of a projection, unless a rebuild is open already. @returns the id of the open rebuild */
export const requestRebuild = (pool: Pool, projection: string, by: Operator): Promise<number> =>
  inTurn(pool, projection, async (db) => {
    const open = await openRebuildId(db, projection);
    if (open !== null) return open;
    const { rows } = await db.query<{ id: number }>(
      `insert into annals.requests (kind, projection, asked_by) values ('rebuild-held', $1, $2)
       returning id::double precision as id, pg_notify($3, projection)`,
      [projection, JSON.stringify(by), REQUEST_CHANNEL],
    );
    return rows[0]!.id;
  });

const requestedDecision = async (db: ClientBase, projection: string): Promise<RebuildDecision | undefined> => {
  const { rows } = await db.query<{ kind: RebuildDecision }>(
    `select kind from annals.requests where projection = $1 and kind in ('promote', 'abort') and done_at is null order by requests.id limit 1`,
    [projection],
  );
  return rows[0]?.kind;
};

/** A decision of an operator about a rebuild. `reason` is null if the operator gave none. */
export type DecisionRequest = {
  readonly decision: RebuildDecision;
  readonly projection: string;
  readonly rebuild: number;
  readonly by: Operator;
  readonly reason: string | null;
};

/**
 * Stores a request to promote or abort a rebuild, if `mustRequest` returns true. `mustRequest` gets the request for the
 * same projection that is stored and not carried out yet; undefined if there is none. Simultaneous requests are handled
 * one after another.
 */
export const requestDecision = (
  pool: Pool,
  { decision, projection, rebuild, by, reason }: DecisionRequest,
  mustRequest: (db: ClientBase, requested: RebuildDecision | undefined) => Promise<boolean>,
): Promise<void> =>
  inTurn(pool, projection, async (db) => {
    if (!(await mustRequest(db, await requestedDecision(db, projection)))) return;
    await db.query(
      `insert into annals.requests (kind, projection, rebuild, asked_by, reason) values ($1, $2, $3, $4, $5) returning pg_notify($6, projection)`,
      [decision, projection, rebuild, JSON.stringify(by), reason, REQUEST_CHANNEL],
    );
  });
