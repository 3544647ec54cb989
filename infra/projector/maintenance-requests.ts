import type { ClientBase, Pool } from 'pg';

/** Where a request wakes the worker that holds the projection. */
export const REQUEST_CHANNEL = 'annals_asked';

/**
 * `rebuild` promotes whatever it finds and reports it; `rebuild-if-equal` keeps the old rows where the new ones differ; `rebuild-held` has
 * both written, compared, until `promote` or `abort`.
 */
export type RequestKind = 'rebuild' | 'rebuild-if-equal' | 'rebuild-held' | 'promote' | 'abort' | 'retry';

/** What ends when a projection's new rows have taken their place, or were given up. */
export const REBUILDS = ['rebuild', 'rebuild-if-equal', 'rebuild-held', 'promote'] as const satisfies RequestKind[];

export type Request = {
  readonly id: number;
  readonly kind: RequestKind;
  readonly projection: string;
  readonly stream: string | null;
  /** What is known of it while it is under way. */
  readonly outcome: unknown;
};

/** What became of a request; `done_at` is null while it is under way. */
export type RequestState = { readonly id: number; readonly projection: string; readonly done_at: string | null; readonly outcome: unknown };

type Querier = Pick<ClientBase, 'query'> | Pool;

/** Asks the process that writes a projection; gives the request's id. It is taken up even if that process has to be started first. */
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

/** What is asked of these projections and not yet done, oldest first. */
export const openRequests = async (db: Querier, projections: readonly string[]): Promise<Request[]> => {
  const { rows } = await db.query<Request>(
    'select id::double precision as id, kind, projection, stream, outcome from annals.requests where done_at is null and projection = any($1::text[]) order by requests.id',
    [projections],
  );
  return rows;
};

/** Ends the requests of some kinds about a projection with one outcome. */
export const endRequests = (db: Querier, projection: string, kinds: readonly RequestKind[], outcome: unknown): Promise<unknown> =>
  db.query(
    'update annals.requests set done_at = now(), outcome = $3 where projection = $1 and kind = any($2::text[]) and done_at is null',
    [projection, kinds, JSON.stringify(outcome)],
  );

/** Leaves what is known of a request that goes on. */
export const recordRequest = (db: Querier, id: number, outcome: unknown): Promise<unknown> =>
  db.query('update annals.requests set outcome = $2 where id = $1', [id, JSON.stringify(outcome)]);

export const endRequest = (db: Querier, id: number, outcome: unknown): Promise<unknown> =>
  db.query('update annals.requests set done_at = now(), outcome = $2 where id = $1', [id, JSON.stringify(outcome)]);
