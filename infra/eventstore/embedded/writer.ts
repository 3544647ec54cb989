import { isDiskFull } from '../../durable-files.ts';
import type { AppendRequest, AppendResult, Outcome } from './append-decision.ts';
import type { createConcurrencyCheck } from './concurrency-check.ts';
import { isDamage, reportDamage } from './log/corruption.ts';
import type { Log } from './log/log.ts';
import { maxRecordSize } from './log/record.ts';

/** `deadline` is in milliseconds since 1970. `respond` is called at most once; never after a fatal error. */
type Job = { request: AppendRequest; deadline: number; respond: (result: AppendResult) => void };

type Decide = ReturnType<typeof createConcurrencyCheck>;

type Parts = {
  log: Log;
  decide: Decide;
  /** Called after a batch that wrote events. */
  onAppended: () => void;
  /** Called when a batch could not be written. The data of the batch in memory must be discarded. */
  onDiscarded: () => void;
  /** Called when the contents of the disk are unknown. It must end the process. */
  onFatalError: (error: unknown) => void;
};

/** An upper bound of the size of the metadata event that an append adds if it revives a deleted stream. */
const METADATA_BYTES = 4096;
/** A UTF-16 code unit of a stream's name takes at most three bytes in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;
const MAX_SMALL_BATCH_REQUESTS = 2;

/** An upper bound of the bytes that a request adds to the log. */
const maxSizeOf = ({ events, stream }: AppendRequest): number =>
  events.reduce((sum, event) => sum + maxRecordSize(event, stream.length * MAX_BYTES_PER_UNIT), METADATA_BYTES);

const maxSizeOfAll = (jobs: Job[]): number => jobs.reduce((sum, { request }) => sum + maxSizeOf(request), 0);

/** Reads everything before it adds anything to the batch: if a record is damaged, only this request fails. */
const decideOne = (decide: Decide, request: AppendRequest): Outcome => {
  try {
    return decide(request);
  } catch (error) {
    if (!isDamage(error)) throw error;
    reportDamage(error);
    return { kind: 'damaged', reason: error.message };
  }
};

const writeBatch = ({ log, decide }: Parts, jobs: Job[]): AppendResult[] => {
  const start = log.startBatch();
  const now = Date.now();
  const results = jobs.map(({ request, deadline }) => (deadline <= now ? { kind: 'late' as const } : decideOne(decide, request)));
  if (log.batchEnd() > start) log.commit(jobs.length <= MAX_SMALL_BATCH_REQUESTS);
  return results;
};

/** Undefined after a fatal error: then no request may be answered. */
const tryWriteBatch = (parts: Parts, jobs: Job[]): AppendResult[] | undefined => {
  try {
    return writeBatch(parts, jobs);
  } catch (error) {
    if (!isDiskFull(error)) return void parts.onFatalError(error);
    parts.onDiscarded();
    return jobs.map(() => ({ kind: 'failed', reason: 'the disk is full' }));
  }
};

export type Writer = ReturnType<typeof createWriter>;

/** Requests of one turn of the event loop are decided, written and synced together, and then answered. */
export const createWriter = (parts: Parts) => {
  const { log } = parts;
  let queue: Job[] = [];
  let callbacks = new Set<() => void>();

  const flush = (): void => {
    if (queue.length === 0) return;
    if (!log.canStartBatch(maxSizeOfAll(queue))) return void log.whenWritable().then(flush);
    const jobs = queue;
    queue = [];
    const before = log.end();
    const results = tryWriteBatch(parts, jobs);
    if (!results) return;
    for (const [i, { respond }] of jobs.entries()) respond(results[i]!);
    const afterThisBatch = callbacks;
    callbacks = new Set();
    for (const callback of afterThisBatch) callback();
    if (log.end() > before) parts.onAppended();
  };

  return {
    /** Requests are answered after the sync, in the order in which they arrived. */
    submit: (job: Job): void => {
      if (queue.push(job) === 1) setImmediate(flush);
    },
    /** Called once, after all requests of the next batch are answered, so that a connection sends its responses in one write. */
    afterBatch: (callback: () => void): void => void callbacks.add(callback),
    idle: async (): Promise<void> => {
      while (queue.length > 0) {
        await log.whenWritable();
        flush();
      }
    },
    flush,
  };
};
