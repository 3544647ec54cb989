import { createHash } from 'node:crypto';
import pg from 'pg';
import { applicationName, CONNECTION_TIMEOUT_MS, connectionConfig } from './pool.ts';

/**
 * If a session has sent nothing for this many milliseconds, the database server ends it and releases its locks. The
 * process that opened the session then probably hangs, or its machine cannot be reached.
 */
const IDLE_TIMEOUT_MS = 4_000;
const HEARTBEAT_INTERVAL_MS = 1_000;
const CONNECTION_NAME = 'projection locks';
const SESSION_OPTIONS = `-c idle_session_timeout=${IDLE_TIMEOUT_MS} -c idle_in_transaction_session_timeout=${IDLE_TIMEOUT_MS}`;

/**
 * The advisory locks that one database session holds. Only the process that holds the lock of a projection writes the
 * projection. A lock ends when it is released, when the connection ends, or after the session has sent nothing for
 * IDLE_TIMEOUT_MS.
 */
export type AdvisoryLocks = {
  /** Returns the connection, which is opened if necessary. @throws the driver's error if the database is unavailable */
  readonly connect: () => Promise<pg.Client>;
  /**
   * Tries to get the locks with these names, without waiting. @returns those of the names whose locks this session now
   * holds
   */
  readonly acquire: (names: readonly string[]) => Promise<string[]>;
  readonly release: (names: readonly string[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

const keyOf = (name: string): string => createHash('sha256').update(`annals projection ${name}`).digest().readBigInt64BE().toString();

/**
 * Sends a query every second, each after the answer to the one before, so that the server does not end the session.
 * Calls `onSilence` if a query fails.
 */
const startHeartbeat = (client: pg.Client, onSilence: () => void): void => {
  let isWaiting = false;
  const timer = setInterval(() => {
    if (isWaiting) return;
    isWaiting = true;
    client.query('select 1').then(() => {
      isWaiting = false;
    }, onSilence);
  }, HEARTBEAT_INTERVAL_MS).unref();
  client.once('end', () => clearInterval(timer));
};

/** Returns whether the database has a session of any process that holds the locks of projections or tries to get them. */
export const hasLockSession = async (db: Pick<pg.ClientBase, 'query'>): Promise<boolean> => {
  const { rows } = await db.query('select from pg_stat_activity where datname = current_database() and application_name = $1 limit 1', [
    applicationName(CONNECTION_NAME),
  ]);
  return rows.length > 0;
};

/**
 * Opens advisory locks in a database session of their own. `onLost` is called when the connection has ended, because
 * this releases all locks.
 */
export const openAdvisoryLocks = (databaseUrl: string, onLost: () => void): AdvisoryLocks => {
  let client: pg.Client | null = null;
  let connecting: Promise<pg.Client> | null = null;

  const open = async (): Promise<pg.Client> => {
    const opened = new pg.Client({
      ...connectionConfig(databaseUrl, CONNECTION_NAME, SESSION_OPTIONS),
      query_timeout: CONNECTION_TIMEOUT_MS,
      pipeline: true,
    });
    const onEnd = () => {
      if (client !== opened) return;
      client = null;
      onLost();
    };
    const onFailure = () => {
      onEnd();
      void opened.end().catch(() => {});
    };
    opened.on('error', onFailure);
    opened.on('end', onEnd);
    await opened.connect();
    startHeartbeat(opened, onFailure);
    client = opened;
    return opened;
  };

  const connect = async (): Promise<pg.Client> => {
    if (client) return client;
    connecting ??= open().finally(() => {
      connecting = null;
    });
    return connecting;
  };

  return {
    connect,
    acquire: async (names) => {
      if (names.length === 0) return [];
      const { rows } = await (await connect()).query<{ at: number }>(
        'select at from unnest($1::bigint[]) with ordinality as wanted(key, at) where pg_try_advisory_lock(key) order by at',
        [names.map(keyOf)],
      );
      return rows.map(({ at }) => names[at - 1]!);
    },
    release: async (names) => {
      if (client && names.length > 0)
        await client.query('select pg_advisory_unlock(key) from unnest($1::bigint[]) as released(key)', [names.map(keyOf)]);
    },
    close: async () => {
      await connecting?.catch(() => {});
      const current = client;
      client = null;
      await current?.end().catch(() => {});
    },
  };
};
