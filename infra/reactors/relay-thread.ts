import { Worker } from 'node:worker_threads';
import { type Position, parseToken } from '../../domain/event.ts';
import { createBackoff } from '../backoff.ts';
import type { RelayLogger, RelayStatus } from './relay.ts';
import type { RelayMessage, RelayReport, RelayRequest, RelayTask } from './relay-worker.ts';

const MAIN = new URL('./relay-main.mjs', import.meta.url);
const RESTART = { minMs: 100, maxMs: 30_000, jitter: 0.25 };
/** If the thread has lived for this long, its end does not count as a failed start. */
const STABLE_AFTER_MS = 10_000;
/** If the thread has sent no report for this long, the relay counts as not working. */
const SILENCE_MS = 10_000;
const ANSWER_TIMEOUT_MS = 500;
/** How long `close` waits for the thread before it ends it. */
const CLOSE_TIMEOUT_MS = 10_000;
/**
 * The relay creates much garbage while it catches up, and needs little memory else. Without this limit, its thread
 * would keep up to 48 MiB.
 */
const MAX_YOUNG_GENERATION_MB = 6;

export type RelayThreadParts = {
  readonly task: RelayTask;
  readonly logger: RelayLogger;
  /** Receives the message of each error that a damaged record of the event log causes. */
  readonly onDamage?: (message: string) => void;
};

/** The relay in its thread, as the rest of the process sees it. */
export type RelayThread = {
  /** The last reported status: at most a second old while the relay works. */
  readonly status: () => RelayStatus;
  /** Asks the thread for the position up to which its relay has published every event. Null if there is no answer. */
  readonly publishedThrough: () => Promise<Position | null>;
  readonly close: () => Promise<void>;
};

const STARTING: RelayReport = {
  status: { state: 'starting', position: null, published: 0, waiting: 0, last_error: null, is_stream_stopped: false },
  published: null,
};

type State = RelayThreadParts & {
  worker: Worker | null;
  report: RelayReport;
  reportedAt: number;
  isClosing: boolean;
  /** Resolves with the next report; null if nobody waits for one. */
  answer: PromiseWithResolvers<RelayReport> | null;
};

const onMessage = (state: State, message: RelayMessage): void => {
  if (message.kind === 'logged') state.logger[message.level](message.fields, message.text);
  if (message.kind === 'damaged') state.onDamage?.(message.message);
  // The NATS client may go on trying to connect. So the thread does not end by itself.
  if (message.kind === 'closed') void state.worker?.terminate();
  if (message.kind !== 'report') return;
  state.report = message;
  state.reportedAt = performance.now();
  state.answer?.resolve(message);
  state.answer = null;
};

/** Runs the thread once. Resolves when it has ended. @returns why, and how many milliseconds it has lived */
const runOnce = (state: State): Promise<{ reason: string; ms: number }> =>
  new Promise((resolve) => {
    const startedAt = performance.now();
    let reason = 'it has ended';
    const worker = new Worker(MAIN, {
      name: 'relay',
      workerData: state.task,
      resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_GENERATION_MB },
    });
    state.worker = worker;
    state.reportedAt = startedAt;
    worker.on('message', (message: RelayMessage) => onMessage(state, message));
    worker.on('error', (error) => {
      reason = error instanceof Error ? error.message : String(error);
    });
    worker.on('exit', () => {
      state.worker = null;
      resolve({ reason, ms: performance.now() - startedAt });
    });
  });

/** Starts the thread again whenever it ends, until it is to be closed. */
const keepRunning = async (state: State, closing: AbortSignal): Promise<void> => {
  const backoff = createBackoff(RESTART);
  while (!state.isClosing) {
    const { reason, ms } = await runOnce(state);
    if (state.isClosing) return;
    if (ms > STABLE_AFTER_MS) backoff.reset();
    const last_error = `the thread of the relay has failed: ${reason}`;
    state.report = { status: { ...state.report.status, state: 'waiting', waiting: 0, last_error }, published: null };
    state.logger.warn({ error: reason }, 'the thread of the relay has failed and is started again');
    await backoff.wait(closing);
  }
};

const statusOf = ({ report: { status }, worker, reportedAt, isClosing }: State): RelayStatus => {
  if (isClosing || !worker || performance.now() - reportedAt < SILENCE_MS) return status;
  return { ...status, state: 'waiting', last_error: 'the thread of the relay does not answer' };
};

const ask = async (state: State): Promise<RelayReport | null> => {
  if (!state.worker) return null;
  state.answer ??= Promise.withResolvers();
  state.worker.postMessage('report' satisfies RelayRequest);
  const timer = Promise.withResolvers<null>();
  const timeout = setTimeout(() => timer.resolve(null), ANSWER_TIMEOUT_MS);
  const answer = await Promise.race([state.answer.promise, timer.promise]);
  clearTimeout(timeout);
  return answer;
};

/**
 * Runs the relay in a thread, so that it publishes at once also while projections keep the event loop of this process
 * busy. A thread that fails is started again. A thread takes less memory than a process, and ends with its process.
 */
export const startRelayThread = (parts: RelayThreadParts): RelayThread => {
  const closing = new AbortController();
  const state: State = { ...parts, worker: null, report: STARTING, reportedAt: 0, isClosing: false, answer: null };
  const finished = keepRunning(state, closing.signal);
  return {
    status: () => statusOf(state),
    publishedThrough: async () => {
      const answer = await ask(state);
      return answer?.published ? parseToken(answer.published) : null;
    },
    close: async () => {
      state.isClosing = true;
      closing.abort();
      state.worker?.postMessage('close' satisfies RelayRequest);
      const timeout = setTimeout(() => void state.worker?.terminate(), CLOSE_TIMEOUT_MS);
      await finished;
      clearTimeout(timeout);
    },
  };
};
