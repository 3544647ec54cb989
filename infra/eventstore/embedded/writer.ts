import { isDiskFull } from '../../durable-files.ts';
import type { AppendRequest, createConcurrencyCheck, Outcome } from './concurrency-check.ts';
import { isDamage, reportDamage } from './corruption.ts';
import type { Log } from './log.ts';
import { maxRecordSize } from './record.ts';

type Job = { request: AppendRequest; deadline: number; respond: (outcome: Outcome | { kind: 'late' }) => void };

type Parts = {
  log: Log;
  decide: ReturnType<typeof createConcurrencyCheck>;
  /** The log has grown. */
  grown: () => void;
  /** Nothing of the batch was kept: what is known of it in memory is to be forgotten. */
  forget: () => void;
  /** The disk may or may not hold what was written: nobody may go on from here. */
  fatal: (error: unknown) => void;
};

/** An upper bound of what it adds to the log: its events, and metadata that a deleted stream gets with them. */
const roomOf = ({ events, stream }: AppendRequest): number =>
  events.reduce((sum, event) => sum + maxRecordSize(event, stream.length * 3), METADATA_ROOM);
const METADATA_ROOM = 4096;
const FEW = 2;

export type Writer = ReturnType<typeof createWriter>;

/** Group commit: everything that arrived in one turn of the event loop is decided, written and synced once, and then answered. */
export const createWriter = ({ log, decide, grown, forget, fatal }: Parts) => {
  let queue: Job[] = [];
  let sinks = new Set<() => void>();

  /** A decision reads before it writes: where it meets damage, it has added nothing, and the others go on. */
  const decidedOf = (request: AppendRequest): Outcome => {
    try {
      return decide(request);
    } catch (error) {
      if (!isDamage(error)) throw error;
      reportDamage(error);
      return { kind: 'damaged', reason: error.message };
    }
  };

  const outcomes = (jobs: Job[]): (Outcome | { kind: 'late' })[] => {
    const start = log.startBatch();
    const now = Date.now();
    const decided = jobs.map(({ request, deadline }) => (deadline <= now ? { kind: 'late' as const } : decidedOf(request)));
    if (log.batchEnd() > start) log.commit(jobs.length <= FEW);
    return decided;
  };

  const committed = (jobs: Job[]): (Outcome | { kind: 'late' })[] | undefined => {
    try {
      return outcomes(jobs);
    } catch (error) {
      if (!isDiskFull(error)) return void fatal(error);
      forget();
      return jobs.map(() => ({ kind: 'failed', reason: 'the disk is full' }));
    }
  };

  const room = (): number => queue.reduce((sum, { request }) => sum + roomOf(request), 0);

  const flush = (): void => {
    if (queue.length === 0) return;
    if (!log.free(room())) return void log.whenWritable().then(flush);
    const jobs = queue;
    queue = [];
    const before = log.end();
    const results = committed(jobs);
    if (!results) return;
    for (const [i, { respond }] of jobs.entries()) respond(results[i]!);
    const written = sinks;
    sinks = new Set();
    for (const send of written) send();
    if (log.end() > before) grown();
  };

  /** Answers after the sync, in the order of arrival. `deadline` is epoch ms. */
  const submit = (job: Job): void => {
    if (queue.push(job) === 1) setImmediate(flush);
  };

  /** Runs `send` once when every answer of this turn is given: by it they leave in one write. */
  const afterBatch = (send: () => void): void => void sinks.add(send);

  /** Until everything submitted is answered. */
  const idle = async (): Promise<void> => {
    while (queue.length > 0) {
      await log.whenWritable();
      flush();
    }
  };

  return { submit, afterBatch, idle, flush };
};
