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

/** Stores the statuses of a worker's reactors, and deletes all statuses that are older than an hour. */
export const publishReactors = async (db: ClientBase | Pool, writer: string, reactors: readonly ReactorStatus[]): Promise<void> => {
  if (reactors.length === 0) return;
  await db.query(
    `with forgotten as (delete from annals.reactors where seen_at < now() - interval '1 hour')
     insert into annals.reactors (name, writer, works, reason, remedy)
     select name, $1, works, reason, remedy
     from jsonb_to_recordset($2::jsonb) as reported (name text, works boolean, reason text, remedy text)
     on conflict (name, writer)
     do update set works = excluded.works, reason = excluded.reason, remedy = excluded.remedy, seen_at = now()`,
    [writer, JSON.stringify(reactors)],
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
