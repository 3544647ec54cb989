import { type ChildProcess, fork } from 'node:child_process';
import { type Position, parseToken } from '../../domain/event.ts';
import { createBackoff } from '../backoff.ts';
import { entryPoint } from '../program.ts';
import type { RelayLogger } from './publish-events.ts';
import type { RelayStatus } from './relay.ts';
import type { RelayMessage, RelayReport, RelayRequest, RelayTask } from './relay-child.ts';

const RESTART = { minMs: 100, maxMs: 30_000, jitter: 0.25 };
/** The time in milliseconds after which the end of the process does not count as a failed start. */
const STABLE_AFTER_MS = 10_000;
/** The time in milliseconds without a report after which the relay counts as not working. */
const SILENCE_MS = 10_000;
const ANSWER_TIMEOUT_MS = 500;
/** The maximum time in milliseconds that `close` waits for the process. After that, it kills the process. */
const CLOSE_TIMEOUT_MS = 10_000;
/** Catching up creates many short-lived objects. Without this limit, the relay's process would keep up to 48 MiB for them. */
const NODE_FLAGS = ['--max-semi-space-size=2'];

export type RelayProcessParts = {
  readonly task: RelayTask;
  readonly compileCache: string;
  readonly logger: RelayLogger;
  /** Called for each error that a damaged record of the event log causes. */
  readonly onDamage?: (message: string) => void;
};

export type RelayProcess = {
  /** Returns the last reported status. While the relay works, it is at most a second old. */
  readonly status: () => RelayStatus;
  /** Asks the process. Null if there is no answer. */
  readonly publishedThrough: () => Promise<Position | null>;
  readonly close: () => Promise<void>;
};

const STARTING: RelayReport = {
  status: { state: 'starting', position: null, published: 0, waiting: 0, last_error: null, is_stream_stopped: false },
  published: null,
};

type State = RelayProcessParts & {
  child: ChildProcess | null;
  /** The reason of the failure that the process has reported; null if there is none. */
  reason: string | null;
  report: RelayReport;
  reportedAt: number;
  isClosing: boolean;
  /** A promise for the next report; null if nobody waits for one. */
  answer: PromiseWithResolvers<RelayReport> | null;
};

const onMessage = (state: State, message: RelayMessage): void => {
  if (message.kind === 'logged') state.logger[message.level](message.fields, message.text);
  if (message.kind === 'damaged') state.onDamage?.(message.message);
  if (message.kind === 'failed') state.reason = message.reason;
  if (message.kind !== 'report') return;
  state.report = message;
  state.reportedAt = performance.now();
  state.answer?.resolve(message);
  state.answer = null;
};

/** Sends a request, if the process is still running. */
const request = ({ child }: State, message: RelayRequest): void => {
  if (child?.connected) child.send(message, () => {});
};

/**
 * Starts the process with its own session: on Linux a scheduling group, which need not wait for CPU time while projections use theirs.
 * Resolves when the process has ended, with the reason and its duration in milliseconds.
 */
const runOnce = (state: State): Promise<{ reason: string; ms: number }> =>
  new Promise((resolve) => {
    const startedAt = performance.now();
    const child = fork(entryPoint('infra/relay/relay-main.mjs'), [state.compileCache], { detached: true, execArgv: NODE_FLAGS });
    const end = (reason: string): void => {
      state.child = null;
      resolve({ reason: state.reason ?? reason, ms: performance.now() - startedAt });
    };
    Object.assign(state, { child, reason: null, reportedAt: startedAt });
    child.on('message', (message: RelayMessage) => onMessage(state, message));
    child.on('error', (error) => child.pid === undefined && end(error.message));
    child.on('exit', (code, signal) => end(signal ? `it was ended by ${signal}` : `it has ended with code ${code}`));
    request(state, { kind: 'start', task: state.task });
  });

/** Starts the process again whenever it ends, until `closing` is aborted. */
const keepRunning = async (state: State, closing: AbortSignal): Promise<void> => {
  const backoff = createBackoff(RESTART);
  while (!state.isClosing) {
    const { reason, ms } = await runOnce(state);
    if (state.isClosing) return;
    if (ms > STABLE_AFTER_MS) backoff.reset();
    const last_error = `the process of the relay has failed: ${reason}`;
    state.report = { status: { ...state.report.status, state: 'waiting', waiting: 0, last_error }, published: null };
    state.logger.warn({ error: reason }, 'the process of the relay has failed and is started again');
    await backoff.wait(closing);
  }
};

const statusOf = ({ report: { status }, child, reportedAt, isClosing }: State): RelayStatus => {
  if (isClosing || !child || performance.now() - reportedAt < SILENCE_MS) return status;
  return { ...status, state: 'waiting', last_error: 'the process of the relay does not answer' };
};

const ask = async (state: State): Promise<RelayReport | null> => {
  if (!state.child) return null;
  state.answer ??= Promise.withResolvers();
  request(state, { kind: 'report' });
  const timer = Promise.withResolvers<null>();
  const timeout = setTimeout(() => timer.resolve(null), ANSWER_TIMEOUT_MS);
  const answer = await Promise.race([state.answer.promise, timer.promise]);
  clearTimeout(timeout);
  return answer;
};

/**
 * A separate process publishes without delay while projections keep this one busy. It is started again after a failure, and ends with this
 * process, even if that is killed.
 */
export const startRelayProcess = (parts: RelayProcessParts): RelayProcess => {
  const closing = new AbortController();
  const state: State = { ...parts, child: null, reason: null, report: STARTING, reportedAt: 0, isClosing: false, answer: null };
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
      request(state, { kind: 'close' });
      const timeout = setTimeout(() => void state.child?.kill('SIGKILL'), CLOSE_TIMEOUT_MS);
      await finished;
      clearTimeout(timeout);
    },
  };
};
