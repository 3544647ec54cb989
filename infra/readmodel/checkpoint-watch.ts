import pg from 'pg';
import type { Logger } from 'pino';
import { comparePositions, type Position, parseToken } from '../../domain/event.ts';
import { type BackoffOptions, retryDelay } from '../backoff.ts';
import { connectionConfig } from '../postgres/pool.ts';
import { CHECKPOINT_CHANNEL } from '../projector/commit-batch.ts';
import { type ProjectionPositions, trackPositions } from './projection-positions.ts';

const POLL: BackoffOptions = { minMs: 1_000, maxMs: 1_000, jitter: 0.1 };
const RECONNECT: BackoffOptions = { minMs: 25, maxMs: 25, jitter: 0.1 };
const RETRY: BackoffOptions = { minMs: 50, maxMs: 5_000, jitter: 0.1 };
const QUERY_TIMEOUT_MS = 5_000;
/** PostgreSQL's error code for a table that does not exist. */
const UNDEFINED_TABLE = '42P01';

/** Tracks all projections. The database notifies this process of changes; the checkpoints are also read once a second. */
export type CheckpointWatch = Pick<ProjectionPositions, 'position' | 'passed' | 'behindMs' | 'noteEvent'> & {
  readonly healthy: () => boolean;
  readonly close: () => Promise<void>;
};

type State = {
  readonly databaseUrl: string;
  readonly logger: Logger;
  readonly positions: ProjectionPositions;
  /**
   * The checkpoints when the database was last read. They may be lower than `positions`, because a projection without
   * new rows announces its position first and stores its checkpoint later.
   */
  readonly checkpoints: Map<string, Position>;
  client: pg.Client | null;
  timer: NodeJS.Timeout | undefined;
  failures: number;
  isClosed: boolean;
};

const onNotification = (state: State, payload: string): void => {
  const [token = '', ...names] = payload.split(' ');
  const position = parseToken(token);
  if (position) for (const name of names) state.positions.set(name, position);
};

/** A checkpoint that has moved back, after the database was restored from a backup, replaces even a higher position. */
const readCheckpoints = async (state: State, db: pg.Client): Promise<void> => {
  const { rows } = await db.query<{ name: string; token: string }>(
    `select name, commit_position || ':' || prepare_position as token from annals.checkpoints where commit_position >= 0`,
  );
  for (const { name, token } of rows) {
    const position = parseToken(token);
    if (!position) continue;
    const last = state.checkpoints.get(name);
    const movedBack = last !== undefined && comparePositions(position, last) < 0;
    state.checkpoints.set(name, position);
    if (movedBack || !state.positions.isAfter(name, position)) state.positions.set(name, position);
  }
};

const disconnect = async (state: State): Promise<void> => {
  const { client } = state;
  state.client = null;
  await client?.end().catch(() => {});
};

const onConnectionEnd = (state: State, client: pg.Client): void => {
  const isCurrent = state.client === client;
  if (isCurrent) state.client = null;
  void client.end().catch(() => {});
  if (isCurrent && !state.isClosed) schedule(state, retryDelay(RECONNECT, 1));
};

const connect = async (state: State): Promise<pg.Client> => {
  const client = new pg.Client({ ...connectionConfig(state.databaseUrl, 'positions'), query_timeout: QUERY_TIMEOUT_MS });
  client.on('error', () => onConnectionEnd(state, client));
  client.on('end', () => onConnectionEnd(state, client));
  client.on('notification', ({ payload }) => onNotification(state, payload ?? ''));
  await client.connect();
  await client.query(`listen ${CHECKPOINT_CHANNEL}`);
  // `close` could not end a connection that was just being opened.
  if (state.isClosed) await client.end();
  state.positions.clear();
  state.checkpoints.clear();
  state.client = client;
  return client;
};

const schedule = (state: State, delayMs: number): void => {
  clearTimeout(state.timer);
  if (!state.isClosed) state.timer = setTimeout(() => void poll(state), delayMs).unref();
};

const poll = async (state: State): Promise<void> => {
  clearTimeout(state.timer);
  try {
    await readCheckpoints(state, state.client ?? (await connect(state)));
    state.failures = 0;
  } catch (error) {
    // Before the first worker has started, the table does not exist; the database is still available.
    if ((error as { code?: string }).code !== UNDEFINED_TABLE) {
      if (state.failures++ === 0) state.logger.warn({ reason: (error as Error).message }, 'the read models cannot be reached');
      await disconnect(state);
    }
  }
  schedule(state, state.failures === 0 ? retryDelay(POLL, 1) : retryDelay(RETRY, state.failures));
};

/** Resolves after the first attempt to read the checkpoints, even if it fails. Retries while the database is unavailable. */
export const watchCheckpoints = async (databaseUrl: string, logger: Logger): Promise<CheckpointWatch> => {
  const state: State = {
    databaseUrl,
    logger,
    positions: trackPositions(),
    checkpoints: new Map(),
    client: null,
    timer: undefined,
    failures: 0,
    isClosed: false,
  };
  await poll(state);
  return {
    position: state.positions.position,
    passed: state.positions.passed,
    behindMs: state.positions.behindMs,
    noteEvent: state.positions.noteEvent,
    healthy: () => state.client !== null,
    close: async () => {
      state.isClosed = true;
      clearTimeout(state.timer);
      await disconnect(state);
    },
  };
};
