import pg from 'pg';
import type { Logger } from 'pino';
import { comparePositions, type Position, parseToken, tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { connection } from '../postgres/pool.ts';
import { CHECKPOINT_CHANNEL } from '../projector/commit-batch.ts';

const POLL_MS = 1_000;
const MIN_RETRY_DELAY_MS = 25;
const MAX_RETRY_DELAY_MS = 5_000;

/** Where the projections are known to stand: told by the database as they move, and asked for once a second. */
export type CheckpointWatch = {
  readonly position: (projection: string) => string | null;
  readonly passed: (projection: string, token: string, ms: number) => Promise<void>;
  readonly healthy: () => boolean;
  readonly close: () => Promise<void>;
};

type Waiting = { readonly projection: string; readonly wanted: Position; readonly resolve: () => void };

const late = () => new Refusal('not_caught_up', 'The read model has not come that far yet.', { retryAfter: 1 });

/** Listens from now on; while the database is away it tries again. The first look is over when this resolves, or has failed. */
export const watchCheckpoints = async (databaseUrl: string, logger: Logger): Promise<CheckpointWatch> => {
  const known = new Map<string, Position>();
  /** The checkpoints as they were looked at last: of a quiet projection they may stand behind what was heard. */
  const stored = new Map<string, Position>();
  const waiting = new Set<Waiting>();
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let closed = false;

  const reached = ({ projection, wanted }: Omit<Waiting, 'resolve'>): boolean => {
    const at = known.get(projection);
    return at !== undefined && comparePositions(at, wanted) >= 0;
  };
  const moved = (projection: string, position: Position): void => {
    known.set(projection, position);
    for (const one of waiting) if (one.projection === projection && reached(one)) one.resolve();
  };
  const heard = (notice: string): void => {
    const [token = '', ...names] = notice.split(' ');
    const position = parseToken(token);
    if (position) for (const name of names) moved(name, position);
  };

  const isBefore = (one: Position, other: Position | undefined): boolean => other !== undefined && comparePositions(one, other) < 0;

  /** The checkpoints as they are. One that went back is that of a database that was restored: it counts, whatever was heard. */
  const look = async (db: pg.Client): Promise<void> => {
    const { rows } = await db.query<{ name: string; token: string }>(
      `select name, commit_position || ':' || prepare_position as token from annals.checkpoints where commit_position >= 0`,
    );
    for (const { name, token } of rows) {
      const position = parseToken(token);
      if (!position) continue;
      const wentBack = isBefore(position, stored.get(name));
      stored.set(name, position);
      if (wentBack || !isBefore(position, known.get(name))) moved(name, position);
    }
  };

  const connect = async (): Promise<pg.Client> => {
    const opened = new pg.Client({ ...connection(databaseUrl, 'positions'), query_timeout: 5_000 });
    const ended = () => {
      const ours = client === opened;
      if (ours) client = null;
      void opened.end().catch(() => {});
      if (ours && !closed) again(MIN_RETRY_DELAY_MS);
    };
    opened.on('error', ended);
    opened.on('end', ended);
    opened.on('notification', ({ payload }) => heard(payload ?? ''));
    await opened.connect();
    await opened.query(`listen ${CHECKPOINT_CHANNEL}`);
    // Closed while this was on its way: nobody else would end it.
    if (closed) await opened.end();
    known.clear();
    stored.clear();
    client = opened;
    return opened;
  };

  const again = (ms: number): void => {
    clearTimeout(timer);
    if (!closed) timer = setTimeout(turn, ms * (0.9 + Math.random() / 5)).unref();
  };
  const turn = async (): Promise<void> => {
    clearTimeout(timer);
    try {
      await look(client ?? (await connect()));
      failures = 0;
    } catch (error) {
      // Before the first worker has made the engine's tables there is nothing to know: no failure of the database.
      if ((error as { code?: string }).code !== '42P01') {
        if (failures++ === 0) logger.warn({ reason: (error as Error).message }, 'read models are out of reach');
        const held = client;
        client = null;
        await held?.end().catch(() => {});
      }
    }
    again(failures === 0 ? POLL_MS : Math.min(MAX_RETRY_DELAY_MS, MIN_RETRY_DELAY_MS * 2 ** failures));
  };
  await turn();

  return {
    position: (projection) => {
      const at = known.get(projection);
      return at ? tokenOf(at) : null;
    },
    passed: (projection, token, ms) => {
      const wanted = parseToken(token);
      if (!wanted) return Promise.reject(new Refusal('malformed', 'This is no consistency token.'));
      if (reached({ projection, wanted })) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const one: Waiting = {
          projection,
          wanted,
          resolve: () => {
            clearTimeout(over);
            waiting.delete(one);
            resolve();
          },
        };
        const over = setTimeout(() => {
          waiting.delete(one);
          reject(late());
        }, ms);
        waiting.add(one);
      });
    },
    healthy: () => client !== null,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      const held = client;
      client = null;
      await held?.end().catch(() => {});
    },
  };
};
