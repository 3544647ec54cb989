import type { ClientBase, Pool } from 'pg';

/**
 * The status of a reactor in one worker. `reason` is why the reactor does not work; null while it works. `remedy` is
 * what an operator must do; absent if nothing. /readyz shows these texts, so they must contain no secret.
 */
export type ReactorStatus = {
  readonly name: string;
  readonly works: boolean;
  readonly reason: string | null;
  readonly remedy?: string | null;
};

/** The name of the reactor that publishes messages to runners (the relay). */
export const RELAY_REACTOR = 'delivery to runners';

export type WaitingReactor = { readonly name: string; readonly reason: string; readonly remedy: string | null };

/** When this process was started. */
export const STARTED_AT = new Date(Date.now() - process.uptime() * 1_000).toISOString();

/** Stores the statuses of a worker's reactors, and deletes all statuses that are older than an hour. */
export const publishReactors = async (db: ClientBase | Pool, writer: string, reactors: readonly ReactorStatus[]): Promise<void> => {
  if (reactors.length === 0) return;
  await db.query(
    `with forgotten as (delete from annals.reactors where seen_at < now() - interval '1 hour')
     insert into annals.reactors (name, writer, works, reason, remedy, started_at)
     select name, $1, works, reason, remedy, $3::timestamptz
     from jsonb_to_recordset($2::jsonb) as reported (name text, works boolean, reason text, remedy text)
     on conflict (name, writer)
     do update set works = excluded.works, reason = excluded.reason, remedy = excluded.remedy, seen_at = now(),
       started_at = excluded.started_at`,
    [writer, JSON.stringify(reactors), STARTED_AT],
  );
};

/** Deletes the statuses of a worker that ends, so that its reactors do not count as working any longer. */
export const withdrawReactors = async (db: ClientBase | Pool, writer: string): Promise<void> => {
  await db.query('delete from annals.reactors where writer = $1', [writer]);
};

/**
 * Returns the reactors that have not worked in any process during the last ten seconds, each with the reason. Every
 * worker reports its relay, so the relay is also one of them if no worker has reported it.
 */
export const waitingReactors = async (db: Pick<ClientBase, 'query'>): Promise<WaitingReactor[]> => {
  const { rows } = await db.query<WaitingReactor>(
    `with recent as (select * from annals.reactors where seen_at > now() - interval '10 seconds')
     select name, coalesce(min(reason), 'it waits') as reason, min(remedy) as remedy from recent
     group by name having not bool_or(works)
     union all
     select $1::text, 'no worker has reported it', null where not exists (select from recent where name = $1::text) order by name`,
    [RELAY_REACTOR],
  );
  return rows;
};

/** The most workers that `workerStarts` returns: those that were started last. */
const MAX_WORKERS = 20;

/** Returns the workers that have reported during the last ten seconds, and when each was started, the newest first. */
export const workerStarts = async (
  db: Pick<ClientBase, 'query'>,
): Promise<readonly { readonly writer: string; readonly started_at: string }[]> => {
  const { rows } = await db.query<{ writer: string; ms: number }>(
    `select writer, extract(epoch from max(started_at))::double precision * 1000 as ms from annals.reactors
     where seen_at > now() - interval '10 seconds' and started_at is not null
     group by writer order by max(started_at) desc, writer limit ${MAX_WORKERS}`,
  );
  return rows.map(({ writer, ms }) => ({ writer, started_at: new Date(ms).toISOString() }));
};
