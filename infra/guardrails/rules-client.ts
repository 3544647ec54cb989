import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { RulesResult } from '../../domain/guardrails/guardrail-evaluation.ts';
import type { RuleSet } from '../../domain/guardrails/rule-set.ts';
import { Refusal } from '../../domain/refusal.ts';
import { entryPoint } from '../program.ts';
import { createFairQueue } from '../threads/fair-queue.ts';
import { countShareRefusal } from '../threads/share-refusals.ts';
import type { RulesReply, RulesTask, ThreadReady } from './rules-worker.ts';

/** The time limit for the rules on a small body, in milliseconds of processor time: a busy machine does not shorten it. */
const TIME_LIMIT_MS = 1_000;
/** The time limit is one millisecond longer for each of this many bytes of the body. */
const BYTES_PER_MS = 10_000;
/** A delivery waits while the thread works on others, for at most this many milliseconds of the thread's processor time. */
const MAX_WAIT_MS = 10_000;
/** The maximum number of waiting deliveries of one tenant. */
const MAX_WAITING = 1_000;
const RETRY_AFTER_SECONDS = 10;
const MAX_HEAP_MB = 512;
const MIN_CHECK_DELAY_MS = 20;
const MICROSECONDS_PER_MS = 1_000;

const stopping = (): Refusal =>
  new Refusal('unavailable', 'The service is stopping: send the delivery again', { retryAfter: RETRY_AFTER_SECONDS });

const NOT_EVALUATED = 'the rules for a delivery were not evaluated';

type Job = {
  readonly rules: RuleSet;
  readonly subject: RulesTask['subject'];
  readonly content: RulesTask['content'];
  readonly timeLimitMs: number;
  /** The job is given up if all threads together have used this processor time for jobs before it starts. */
  readonly waitsUntilMs: number;
  readonly resolve: (result: RulesResult | null) => void;
  readonly reject: (error: Refusal) => void;
};

/** Runs one job at a time. `known` has the numbers of the rule sets sent to it; `usedMs` is its processor time at its last reply. */
type Thread = { readonly worker: Worker; readonly known: Set<number>; isReady: boolean; usedMs: number };

/** The times are milliseconds of processor time. */
export type RulesClientOptions = { readonly logger: Pick<Logger, 'warn'>; readonly timeLimitMs?: number; readonly maxWaitMs?: number };

/** Returns the processor time of a thread in milliseconds; 0 if the thread has ended. */
const cpuOf = ({ worker }: Thread): Promise<number> =>
  worker.cpuUsage().then(
    ({ user, system }) => (user + system) / MICROSECONDS_PER_MS,
    () => 0,
  );

/** In messages to the thread, the number identifies the rule set. */
const createSetNumbers = () => {
  const numbers = new WeakMap<RuleSet, number>();
  let last = 0;
  return (set: RuleSet): number => {
    const known = numbers.get(set) ?? ++last;
    numbers.set(set, known);
    return known;
  };
};

/**
 * Creates the client that evaluates rules in a separate thread, which are the rules that read the body. If they exceed
 * the time limit, the thread is ended, and the next delivery starts a new one. Tenants take turns, so that slow rules
 * of one tenant do not delay the deliveries of other tenants for long.
 */
export const createRulesClient = ({ logger, timeLimitMs = TIME_LIMIT_MS, maxWaitMs = MAX_WAIT_MS }: RulesClientOptions) => {
  const waiting = createFairQueue<Job>();
  const numberOf = createSetNumbers();
  let thread: Thread | null = null;
  let active: Job | null = null;
  let timer: NodeJS.Timeout | undefined;
  /** The processor time that all threads have used for jobs. */
  let workedMs = 0;

  const finish = (result: RulesResult | null): void => {
    clearTimeout(timer);
    const job = active;
    active = null;
    job?.resolve(result);
    if (waiting.size() === 0) thread?.worker.unref();
    runNext();
  };

  const fail = (reason: string): void => {
    logger.warn({ reason }, NOT_EVALUATED);
    const stopped = thread;
    thread = null;
    workedMs += active?.timeLimitMs ?? 0;
    void stopped?.worker.terminate();
    finish(null);
  };

  /** Ends the thread if it has used too much processor time for the job. Otherwise, checks again later. */
  const checkTime = async (from: Thread, job: Job): Promise<void> => {
    const leftMs = job.timeLimitMs - ((await cpuOf(from)) - from.usedMs);
    if (active !== job || thread !== from) return;
    if (leftMs <= 0) return fail('time limit');
    timer = setTimeout(() => void checkTime(from, job), Math.max(leftMs, MIN_CHECK_DELAY_MS));
  };

  const post = ({ worker, known }: Thread, { rules, subject, content }: Job): void => {
    const set = numberOf(rules);
    worker.postMessage({ id: 0, set, subject, content, ...(known.has(set) ? {} : { rules }) } satisfies RulesTask);
    known.add(set);
  };

  const onReply = (from: Thread, reply: RulesReply | ThreadReady): void => {
    if (from !== thread) return;
    if ('ready' in reply) {
      from.isReady = true;
      from.usedMs = reply.usedMs;
      runNext();
      return;
    }
    if (!('unknown' in reply)) {
      workedMs += reply.usedMs - from.usedMs;
      from.usedMs = reply.usedMs;
    }
    if (active && 'unknown' in reply) {
      from.known.delete(numberOf(active.rules));
      post(from, active);
    } else if ('failed' in reply) {
      logger.warn({ reason: reply.failed }, NOT_EVALUATED);
      finish(null);
    } else if ('result' in reply) finish(reply.result);
  };

  const startThread = (): Thread => {
    const worker = new Worker(entryPoint('infra/guardrails/rules-worker.ts'), { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
    const started: Thread = { worker, known: new Set(), isReady: false, usedMs: 0 };
    worker.on('message', (reply) => onReply(started, reply));
    worker.on('error', (error) => started === thread && fail((error as Error).message));
    worker.on('exit', () => started === thread && fail('the thread ended'));
    return started;
  };

  const runNext = (): void => {
    if (active || waiting.size() === 0) return;
    thread ??= startThread();
    thread.worker.ref();
    if (!thread.isReady) return;
    const job = waiting.next()!;
    if (workedMs > job.waitsUntilMs) {
      logger.warn({ reason: 'the rules of other deliveries took too long' }, NOT_EVALUATED);
      job.resolve(null);
      runNext();
      return;
    }
    const started = thread;
    active = job;
    // A thread cannot use more processor time than has passed, so nothing needs to be checked earlier.
    timer = setTimeout(() => void checkTime(started, job), job.timeLimitMs);
    post(started, job);
  };

  return {
    /**
     * Null if the evaluation fails or exceeds the time limit, or if too many deliveries wait.
     * @throws Refusal unavailable if the client is closed
     */
    evaluate: (
      tenant: string,
      rules: RuleSet,
      subject: RulesTask['subject'],
      content: RulesTask['content'],
    ): Promise<RulesResult | null> => {
      if (waiting.sizeOf(tenant) >= MAX_WAITING) {
        countShareRefusal('guardrail-rules');
        return Promise.resolve(null);
      }
      const jobLimitMs = timeLimitMs + content.body.length / BYTES_PER_MS;
      return new Promise((resolve, reject) => {
        waiting.add(tenant, { rules, subject, content, timeLimitMs: jobLimitMs, waitsUntilMs: workedMs + maxWaitMs, resolve, reject });
        runNext();
      });
    },
    close: async (): Promise<void> => {
      const closed = thread;
      thread = null;
      for (let job = waiting.next(); job; job = waiting.next()) job.reject(stopping());
      active?.reject(stopping());
      active = null;
      clearTimeout(timer);
      await closed?.worker.terminate();
    },
  };
};
