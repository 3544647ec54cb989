import { Worker } from 'node:worker_threads';
import { createFairQueue } from './fair-queue.ts';
import type { Task, TaskReply } from './serve-tasks.ts';
import { countShareRefusal } from './share-refusals.ts';

/**
 * Why a task has no result. `failed`: its function threw an error. `time`, `memory`: it exceeded a limit. `ended`: the
 * thread ended, possibly because of another task. `busy`: too many tasks wait, or it waited for too long.
 */
export type TaskErrorKind = 'failed' | 'time' | 'memory' | 'ended' | 'busy';

export class TaskError extends Error {
  readonly kind: TaskErrorKind;
  constructor(kind: TaskErrorKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/**
 * `script`: the module of the thread, which calls `serveTasks`. `timeLimitMs` counts from the moment at which the thread
 * gets the task; `cpuLimitMs` is processor time, which a busy machine does not change, and needs `maxRunning` to be 1.
 * `maxRunning`: how many tasks the thread has at the same time. `maxMemoryBytes` limits the heap of the thread, and the
 * buffers outside of it. `maxWaiting` is the limit for one owner.
 */
export type TaskThreadOptions = {
  readonly script: URL | string;
  readonly timeLimitMs: number;
  readonly cpuLimitMs?: number;
  readonly maxMemoryBytes: number;
  readonly maxRunning?: number;
  readonly maxWaiting?: number;
  readonly maxWaitMs?: number;
};

type Job = {
  readonly id: number;
  readonly input: unknown;
  readonly buffers: readonly ArrayBuffer[];
  readonly waitsUntil: number;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: TaskError) => void;
  timer?: NodeJS.Timeout;
};

type Limits = Required<TaskThreadOptions>;
type TaskThread = {
  readonly limits: Limits;
  readonly waiting: ReturnType<typeof createFairQueue<Job>>;
  readonly running: Map<number, Job>;
  nextId: number;
  worker: Worker | null;
  isReady: boolean;
  /** The processor time that the thread had used when it got its last task, in microseconds. */
  cpuBefore: Promise<number>;
  checkTimer?: NodeJS.Timeout | undefined;
  idleTimer?: NodeJS.Timeout | undefined;
};

const DEFAULTS = { maxRunning: 1, maxWaiting: 1_000, maxWaitMs: 60_000, cpuLimitMs: Number.POSITIVE_INFINITY };
const CHECK_INTERVAL_MS = 50;
/** A thread without work is ended after this time, so that its memory is free again. */
const IDLE_TIMEOUT_MS = 10_000;
const MICROSECONDS_PER_MS = 1_000;
const BYTES_PER_MB = 1024 * 1024;
/** The size of the part of the heap for new objects. The default grows with the memory of the machine. */
const MAX_YOUNG_MB = 16;

const end = (thread: TaskThread, job: Job): void => {
  clearTimeout(job.timer);
  thread.running.delete(job.id);
};

/** Takes all waiting tasks, if the thread has ended before it was ready: another one could not start either. */
const unstartable = ({ worker, isReady, waiting }: TaskThread): Job[] => {
  const jobs: Job[] = [];
  if (worker && !isReady) for (let job = waiting.next(); job; job = waiting.next()) jobs.push(job);
  return jobs;
};

/** Ends the thread with all its tasks. The next task starts a new one. */
const stop = (thread: TaskThread, errorOf: (job: Job) => TaskError): void => {
  const ended = [...thread.running.values(), ...unstartable(thread)];
  const stopped = thread.worker;
  thread.worker = null;
  thread.isReady = false;
  clearInterval(thread.checkTimer);
  clearTimeout(thread.idleTimer);
  for (const job of ended) end(thread, job);
  void stopped?.terminate();
  for (const job of ended) job.reject(errorOf(job));
  if (thread.waiting.size() > 0) runNext(thread);
};

const endedBecause = (reason: string) => () => new TaskError('ended', reason);

const onReply = (thread: TaskThread, reply: TaskReply<unknown> | 'ready'): void => {
  if (reply === 'ready') {
    thread.isReady = true;
    runNext(thread);
    return;
  }
  const job = thread.running.get(reply.id);
  if (!job) return;
  end(thread, job);
  if ('failed' in reply) job.reject(new TaskError('failed', reply.failed));
  else job.resolve(reply.output);
  runNext(thread);
};

const cpuOf = (worker: Worker): Promise<number> =>
  worker.cpuUsage().then(
    ({ user, system }) => user + system,
    () => 0,
  );

/** Node limits only the heap of a thread, but parsers keep most bytes in buffers. */
const memoryOf = (worker: Worker): Promise<number> =>
  worker.getHeapStatistics().then(
    ({ used_heap_size, external_memory }) => used_heap_size + external_memory,
    () => 0,
  );

const checkLimits = async (thread: TaskThread, worker: Worker): Promise<void> => {
  const { maxMemoryBytes, cpuLimitMs } = thread.limits;
  const [checked] = thread.running.keys();
  if (checked === undefined) return;
  const [memory, cpu, before] = await Promise.all([memoryOf(worker), cpuOf(worker), thread.cpuBefore]);
  if (worker !== thread.worker || !thread.running.has(checked)) return;
  if (memory > maxMemoryBytes) stop(thread, () => new TaskError('memory', `more than ${maxMemoryBytes / BYTES_PER_MB} MiB were needed`));
  else if (cpu - before > cpuLimitMs * MICROSECONDS_PER_MS) stop(thread, () => tooSlow(cpuLimitMs));
};

const tooSlow = (limitMs: number): TaskError => new TaskError('time', `more than ${limitMs} ms were needed`);

const startWorker = (thread: TaskThread): Worker => {
  const { script, maxMemoryBytes } = thread.limits;
  const resourceLimits = {
    maxOldGenerationSizeMb: Math.ceil(maxMemoryBytes / BYTES_PER_MB),
    maxYoungGenerationSizeMb: MAX_YOUNG_MB,
  };
  const worker = new Worker(script, { resourceLimits });
  const endedBy = (error: TaskError): void => void (worker === thread.worker && stop(thread, () => error));
  worker.on('message', (reply) => void (worker === thread.worker && onReply(thread, reply)));
  worker.on('error', (error: Error & { code?: string }) =>
    endedBy(new TaskError(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'ended', error.message)),
  );
  worker.on('exit', () => endedBy(new TaskError('ended', 'the thread ended')));
  thread.checkTimer = setInterval(() => void checkLimits(thread, worker), CHECK_INTERVAL_MS).unref();
  return worker;
};

const start = (thread: TaskThread, worker: Worker, job: Job): void => {
  const { timeLimitMs, cpuLimitMs } = thread.limits;
  thread.running.set(job.id, job);
  if (Number.isFinite(cpuLimitMs)) thread.cpuBefore = cpuOf(worker);
  job.timer = setTimeout(
    () => stop(thread, ({ id }) => (id === job.id ? tooSlow(timeLimitMs) : endedBecause('another task took too long')())),
    timeLimitMs,
  );
  worker.postMessage({ id: job.id, input: job.input } satisfies Task<unknown>, [...job.buffers]);
};

const runNext = (thread: TaskThread): void => {
  const { running, waiting, limits } = thread;
  clearTimeout(thread.idleTimer);
  if (running.size + waiting.size() === 0) {
    thread.worker?.unref();
    thread.idleTimer = setTimeout(() => stop(thread, endedBecause('the thread had no work')), IDLE_TIMEOUT_MS).unref();
    return;
  }
  while (waiting.size() > 0 && running.size < limits.maxRunning) {
    thread.worker ??= startWorker(thread);
    thread.worker.ref();
    if (!thread.isReady) return;
    const job = waiting.next()!;
    if (performance.now() > job.waitsUntil) job.reject(new TaskError('busy', 'other tasks took too long'));
    else start(thread, thread.worker, job);
  }
};

const add = <Output>(thread: TaskThread, owner: string, input: unknown, buffers: readonly ArrayBuffer[]): Promise<Output> => {
  const { waiting, limits } = thread;
  if (waiting.sizeOf(owner) >= limits.maxWaiting) {
    countShareRefusal('threads');
    return Promise.reject(new TaskError('busy', 'too many tasks wait'));
  }
  return new Promise((resolve, reject) => {
    const waitsUntil = performance.now() + limits.maxWaitMs;
    waiting.add(owner, { id: thread.nextId++, input, buffers, waitsUntil, resolve: resolve as Job['resolve'], reject });
    runNext(thread);
  });
};

const close = (thread: TaskThread): void => {
  for (let job = thread.waiting.next(); job; job = thread.waiting.next()) job.reject(endedBecause('the thread is closed')());
  stop(thread, endedBecause('the thread is closed'));
};

/**
 * Works on bytes from outside: with limits, hostile bytes neither block the event loop nor use up the memory. Starts with the first task.
 * Owners, such as tenants, take turns. A task that exceeds a limit ends the thread, and the next one starts a new one.
 */
export const createTaskThread = <Input, Output>(options: TaskThreadOptions) => {
  const limits: Limits = { ...DEFAULTS, ...options };
  const thread: TaskThread = {
    limits,
    waiting: createFairQueue<Job>(),
    running: new Map(),
    nextId: 1,
    worker: null,
    isReady: false,
    cpuBefore: Promise.resolve(0),
  };
  return {
    /** `buffers` are parts of the input that are moved to the thread: do not use them any more. @throws TaskError */
    run: (owner: string, input: Input, buffers: readonly ArrayBuffer[] = []): Promise<Output> => add<Output>(thread, owner, input, buffers),
    close: (): void => close(thread),
  };
};
