import { createHash } from 'node:crypto';
import pg from 'pg';
import { CONNECTION_TIMEOUT_MS, connection } from './pool.ts';

/** So long the server keeps the locks of a session from which nothing comes: its process stands still, or its machine is gone without a word. */
const IDLE_TIMEOUT_MS = 4_000;
const BEAT_MS = 1_000;
const SESSION_OPTIONS = `-c idle_session_timeout=${IDLE_TIMEOUT_MS} -c idle_in_transaction_session_timeout=${IDLE_TIMEOUT_MS}`;

/**
 * Advisory locks of one session: who holds a projection's lock is its one writer, until it lets go, its connection ends or nothing is heard of
 * it for some seconds.
 */
export type AdvisoryLocks = {
  /** Connects where there is no connection. @throws the driver's error where the database is down */
  readonly connect: () => Promise<pg.Client>;
  /** Those of the names whose lock is ours from now on. */
  readonly acquire: (names: readonly string[]) => Promise<string[]>;
  readonly release: (names: readonly string[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

const keyOf = (name: string): string => createHash('sha256').update(`annals projection ${name}`).digest().readBigInt64BE().toString();

/** Lets the server know that somebody is there, a question at a time, until the connection ends; `silent` is called where no answer comes. */
const beating = (client: pg.Client, silent: () => void): void => {
  let asked = false;
  const timer = setInterval(() => {
    if (asked) return;
    asked = true;
    client.query('select 1').then(() => {
      asked = false;
    }, silent);
  }, BEAT_MS).unref();
  client.once('end', () => clearInterval(timer));
};

/** `lost` is called when the connection has ended and with it every lock. */
export const openAdvisoryLocks = (databaseUrl: string, lost: () => void): AdvisoryLocks => {
  let client: pg.Client | null = null;

  const connect = async (): Promise<pg.Client> => {
    if (client) return client;
    const opened = new pg.Client({
      ...connection(databaseUrl, 'projection locks', SESSION_OPTIONS),
      query_timeout: CONNECTION_TIMEOUT_MS,
      pipeline: true,
    });
    const ended = () => {
      if (client !== opened) return;
      client = null;
      lost();
    };
    const broken = () => {
      ended();
      void opened.end().catch(() => {});
    };
    opened.on('error', broken);
    opened.on('end', ended);
    await opened.connect();
    beating(opened, broken);
    client = opened;
    return opened;
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
        await client.query('select pg_advisory_unlock(key) from unnest($1::bigint[]) as held(key)', [names.map(keyOf)]);
    },
    close: async () => {
      const held = client;
      client = null;
      await held?.end().catch(() => {});
    },
  };
};
