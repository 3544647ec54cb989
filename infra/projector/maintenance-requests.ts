import type { ClientBase, Pool } from 'pg';

/** The NOTIFY channel for new requests. On it, a request is announced to the process that writes the projection. */
export const REQUEST_CHANNEL = 'annals_asked';

/**
 * `rebuild-held` rebuilds a projection, compares the new rows with the live ones, and keeps both up to date until
 * `promote` or `abort` is requested. Earlier versions of Annals also request `rebuild`, which always promotes the new
 * rows, and `rebuild-if-equal`, which aborts if rows differ.
 */
export type RequestKind = 'rebuild' | 'rebuild-if-equal' | 'rebuild-held' | 'promote' | 'abort' | 'retry';

/** The kinds of requests that end when a rebuild is promoted or aborted. */
export const REBUILD_KINDS = ['rebuild', 'rebuild-if-equal', 'rebuild-held', 'promote'] as const satisfies RequestKind[];

export type MaintenanceRequest = {
  readonly id: number;
  readonly kind: RequestKind;
  readonly projection: string;
  readonly stream: string | null;
  /** The recorded progress or result; null if none has been recorded. */
  readonly outcome: unknown;
};

/** The state of a request. `done_at` is null while it is not done. */
export type RequestState = { readonly id: number; readonly projection: string; readonly done_at: string | null; readonly outcome: unknown };

type Querier = Pick<ClientBase, 'query'> | Pool;

/**
 * Stores a maintenance request for a projection. The process that writes the projection handles the request. While
 * there is no such process, the request waits.
 * @returns the id of the request
 */
export const requestMaintenance = async (
  db: Querier,
  kind: RequestKind,
  projection: string,
  stream: string | null = null,
): Promise<number> => {
  const { rows } = await db.query<{ id: number }>(
    'insert into annals.requests (kind, projection, stream) values ($1, $2, $3) returning id::double precision as id, pg_notify($4, projection)',
    [kind, projection, stream, REQUEST_CHANNEL],
  );
  return rows[0]!.id;
};

export const requestState = async (db: Querier, id: number): Promise<RequestState | null> => {
  const { rows } = await db.query<RequestState>(
    'select id::double precision as id, projection, done_at, outcome from annals.requests where id = $1',
    [id],
  );
  return rows[0] ?? null;
};

export const openRequests = async (db: Querier, projections: readonly string[]): Promise<MaintenanceRequest[]> => {
  const { rows } = await db.query<MaintenanceRequest>(
    'select id::double precision as id, kind, projection, stream, outcome from annals.requests where done_at is null and projection = any($1::text[]) order by requests.id',
    [projections],
  );
  return rows;
};

/** Marks all open requests of some kinds for a projection as done. Adds the fields of `outcome` to their recorded outcomes. */
export const completeRequests = (db: Querier, projection: string, kinds: readonly RequestKind[], outcome: unknown): Promise<unknown> =>
  db.query(
    `update annals.requests set done_at = now(), outcome = coalesce(outcome, '{}') || $3::jsonb where projection = $1 and kind = any($2::text[]) and done_at is null`,
    [projection, kinds, JSON.stringify(outcome)],
  );

export const recordProgress = (db: Querier, id: number, outcome: unknown): Promise<unknown> =>
  db.query('update annals.requests set outcome = $2 where id = $1', [id, JSON.stringify(outcome)]);

/** Marks a request as done and stores its outcome. */
export const completeRequest = (db: Querier, id: number, outcome: unknown): Promise<unknown> =>
  db.query('update annals.requests set done_at = now(), outcome = $2 where id = $1', [id, JSON.stringify(outcome)]);
