import type pg from 'pg';
import type { Logger } from 'pino';
import type { Reads } from '../../projections/read-model.ts';
import { openAdvisoryLocks } from '../postgres/advisory-locks.ts';
import { CONNECTION_TIMEOUT_MS, openPool } from '../postgres/pool.ts';
import { readsOver } from '../readmodel/postgres-read-model.ts';

const MAX_READERS = 2;

/** One session holds the locks of all reactors of a process, at most two run queries. @throws the driver's error */
export type ReactorSessions = {
  /** Does not wait. In one process, only one reactor may use a name. Returns whether this process holds the lock now. */
  readonly acquire: (name: string) => Promise<boolean>;
  readonly reads: Pick<Reads, 'rows'>;
  readonly query: pg.Pool['query'];
  readonly close: () => Promise<void>;
};

/** Opens the sessions, which connect when they are first used. */
export const openReactorSessions = (databaseUrl: string, logger: Logger): ReactorSessions => {
  /** For each lock, the session that got it. A session that ended has released it. */
  const holders = new Map<string, pg.Client>();
  const locks = openAdvisoryLocks(databaseUrl, () => holders.clear());
  const pool = openPool(databaseUrl, logger, 'reactors', { max: MAX_READERS, queryTimeoutMs: CONNECTION_TIMEOUT_MS });
  return {
    acquire: async (name) => {
      const session = await locks.connect();
      if (holders.get(name) === session) return true;
      const isAcquired = (await locks.acquire([name])).length > 0;
      if (isAcquired) holders.set(name, session);
      return isAcquired;
    },
    reads: readsOver(async (statement) => (await pool.query(statement)).rows),
    query: pool.query.bind(pool),
    close: async () => {
      await Promise.all([locks.close(), pool.end()]);
    },
  };
};
