import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { Refusal } from '../../domain/refusal.ts';
import type { RulesResult } from '../../domain/webhooks/guardrail-evaluation.ts';
import type { RuleSet } from '../../domain/webhooks/rule-set.ts';
import { createFairQueue } from '../threads/fair-queue.ts';
import type { RulesReply, RulesTask } from './rules-worker.ts';

/** The time limit for the rules on a small body, in milliseconds. */
const TIME_LIMIT_MS = 1_000;
/** The time limit is one millisecond longer for each of this many bytes of the body. */
const BYTES_PER_MS = 10_000;
/** A delivery is refused if it has waited for the thread for this many milliseconds. Its sender can send it again. */
const MAX_WAIT_MS = 2_000;
const MAX_WAITING = 1_000;
const RETRY_AFTER_SECONDS = 10;
const MAX_HEAP_MB = 512;

const overloaded = (): Refusal =>
  new Refusal('unavailable', 'The rules for this delivery could not be evaluated in time: send it again', {
    retryAfter: RETRY_AFTER_SECONDS,
  });

type Job = {
  readonly rules: RuleSet;
  readonly subject: RulesTask['subject'];
  readonly content: RulesTask['content'];
  readonly waitsUntil: number;
  readonly resolve: (result: RulesResult | null) => void;
  readonly reject: (error: Refusal) => void;
};

/** The thread that runs the jobs, one at a time. `known` contains the numbers of the rule sets that were sent to it. */
type Thread = { readonly worker: Worker; readonly known: Set<number>; isReady: boolean };

export type RulesClientOptions = { readonly logger: Pick<Logger, 'warn'>; readonly timeLimitMs?: number };

/**
 * Creates the function that returns the number of a rule set. In messages to the thread, this number identifies the
 * rule set.
 */
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
export const createRulesClient = ({ logger, timeLimitMs = TIME_LIMIT_MS }: RulesClientOptions) => {
  const waiting = createFairQueue<Job>();
  const numberOf = createSetNumbers();
  let thread: Thread | null = null;
  let active: Job | null = null;
  let timer: NodeJS.Timeout | undefined;

  const finish = (result: RulesResult | null): void => {
    clearTimeout(timer);
    const job = active;
    active = null;
    job?.resolve(result);
    if (waiting.size() === 0) thread?.worker.unref();
    runNext();
  };

  const fail = (reason: string): void => {
    logger.warn({ reason }, 'the rules for a delivery were not evaluated');
    const stopped = thread;
    thread = null;
    void stopped?.worker.terminate();
    finish(null);
  };

  const post = ({ worker, known }: Thread, { rules, subject, content }: Job): void => {
    const set = numberOf(rules);
    worker.postMessage({ id: 0, set, subject, content, ...(known.has(set) ? {} : { rules }) } satisfies RulesTask);
    known.add(set);
  };

  const onReply = (from: Thread, reply: RulesReply | 'ready'): void => {
    if (from !== thread) return;
    if (reply === 'ready') {
      from.isReady = true;
      runNext();
    } else if (active && 'unknown' in reply) {
      from.known.delete(numberOf(active.rules));
      post(from, active);
    } else if ('failed' in reply) {
      logger.warn({ reason: reply.failed }, 'the rules for a delivery were not evaluated');
      finish(null);
    } else if ('result' in reply) finish(reply.result);
  };

  const startThread = (): Thread => {
    const worker = new Worker(new URL('./rules-worker.ts', import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
    const started: Thread = { worker, known: new Set(), isReady: false };
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
    if (performance.now() > job.waitsUntil) {
      job.reject(overloaded());
      runNext();
      return;
    }
    active = job;
    timer = setTimeout(() => fail('time limit'), timeLimitMs + job.content.body.length / BYTES_PER_MS);
    post(thread, job);
  };

  return {
    /**
     * Evaluates the rules of a tenant for a delivery.
     * @returns the result; null if the evaluation fails or exceeds the time limit
     * @throws Refusal unavailable if too many deliveries wait
     */
    evaluate: (
      tenant: string,
      rules: RuleSet,
      subject: RulesTask['subject'],
      content: RulesTask['content'],
    ): Promise<RulesResult | null> => {
      if (waiting.size() >= MAX_WAITING) return Promise.reject(overloaded());
      return new Promise((resolve, reject) => {
        waiting.add(tenant, { rules, subject, content, waitsUntil: performance.now() + MAX_WAIT_MS, resolve, reject });
        runNext();
      });
    },
    close: async (): Promise<void> => {
      const closed = thread;
      thread = null;
      for (let job = waiting.next(); job; job = waiting.next()) job.reject(overloaded());
      active?.reject(overloaded());
      active = null;
      clearTimeout(timer);
      await closed?.worker.terminate();
    },
  };
};
