import type { Logger } from 'pino';
import { arrayText, openPool, preparedStatement } from '../postgres/pool.ts';
import type { WindowTable } from './sliding-windows.ts';

const QUERY_TIMEOUT_MS = 500;
const PRUNE_INTERVAL_MS = 60_000;

const addStatement = preparedStatement(`
  insert into annals.windows (key, version, state, expires_at)
  select key, 0, '[]', expires_at from unnest($1::text[], $2::double precision[]) as missing(key, expires_at) order by key
  on conflict do nothing`);
const readStatement = preparedStatement('select key, version, state from annals.windows where key = any($1::text[])');
// Rows are locked in the order of their keys. If the version of one is unexpected, none is updated.
const storeStatement = preparedStatement(`
  with changed as (
    select * from unnest($1::text[], $2::integer[], $3::text[], $4::double precision[]) as row(key, version, state, expires_at)
  ), current as (
    select stored.key from annals.windows as stored join changed on stored.key = changed.key
    where stored.version = changed.version - 1 order by stored.key for update of stored
  )
  update annals.windows as stored set version = changed.version, state = changed.state, expires_at = changed.expires_at
  from changed where stored.key = changed.key and (select count(*) from current) = (select count(*) from changed)`);
const pruneStatement =
  'delete from annals.windows where key in (select key from annals.windows where expires_at < $1 for update skip locked)';

type Row = { readonly key: string; readonly version: number; readonly state: string };

/** The worker process creates the table. A statement fails after half a second without an answer. Unused windows are deleted once a minute. */
export const openWindowTable = (databaseUrl: string, logger: Logger): WindowTable & { readonly close: () => Promise<void> } => {
  const pool = openPool(databaseUrl, logger, 'windows', { max: 1, options: '-c synchronous_commit=off', queryTimeoutMs: QUERY_TIMEOUT_MS });
  let prunedAt = performance.now();

  const pruneIfDue = (now: number): void => {
    if (performance.now() - prunedAt <= PRUNE_INTERVAL_MS) return;
    prunedAt = performance.now();
    pool
      .query(pruneStatement, [now])
      .catch(({ message }: Error) => logger.debug({ reason: message }, 'expired windows could not be deleted'));
  };

  return {
    read: async (limits, now) => {
      const keys = arrayText(limits.map(({ key }) => key));
      await pool.query({ ...addStatement, values: [keys, arrayText(limits.map(({ windowMs }) => now + windowMs))] });
      const { rows } = await pool.query<Row>({ ...readStatement, values: [keys] });
      pruneIfDue(now);
      return rows.map(({ key, version, state }) => ({ key, version, state: JSON.parse(state) as number[] }));
    },
    store: async (updates) => {
      const values = [
        arrayText(updates.map(({ key }) => key)),
        arrayText(updates.map(({ version }) => version)),
        arrayText(updates.map(({ state }) => JSON.stringify(state))),
        arrayText(updates.map(({ expiresAt }) => expiresAt)),
      ];
      const { rowCount } = await pool.query({ ...storeStatement, values });
      return rowCount === updates.length;
    },
    close: () => pool.end(),
  };
};
