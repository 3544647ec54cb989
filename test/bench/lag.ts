import { rmSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { pino } from 'pino';
import { tokenOf } from '../../domain/event.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { startProjections } from '../../infra/projector/projector.ts';
import { createReads } from '../../infra/readmodel/postgres-read-model.ts';
import { startServices } from '../fixtures/start-services.ts';
import { eventId, ideasOf } from '../fixtures/test-projection.ts';

/**
 * The results of the benchmark. `perSecond` is the number of events appended in a second, and `events` the number of
 * measured events. The other figures are times in milliseconds, from the acknowledgement of an append until the read
 * model includes the event.
 */
export type LagFigures = {
  readonly perSecond: number;
  readonly events: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
};

type Task = { readonly url: string; readonly perSecond: number; readonly seconds: number };
type WriterMessage = { readonly token: string } | 'done';

const CATEGORY = 'lag';
const TICK_MS = 10;
const WARMUP_SECONDS = 3;

/**
 * Appends single events at a steady rate, even if responses take long. Runs in a worker thread. Sends the consistency
 * token of each event to the main thread.
 */
const write = async ({ url, perSecond, seconds }: Task): Promise<void> => {
  const log = openLog(url);
  const report = (message: WriterMessage): void => parentPort!.postMessage(message);
  const meta = () => ({ tenant: 't', actor: { kind: 'system', id: 'bench' }, at: new Date().toISOString(), v: 1 }) as const;
  const append = async (n: number): Promise<void> => {
    const event = { id: eventId(CATEGORY, n), type: 'IdeaNoted', data: { title: `Idea ${n}` }, meta: meta() };
    const { position } = await log.append(`${CATEGORY}-t.i${n}`, 'none', [event], { deadline: 10_000 });
    report({ token: tokenOf(position) });
  };
  const startedAt = performance.now();
  const sent: Promise<void>[] = [];
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startedAt) * perSecond) / 1_000);
      while (sent.length < Math.min(due, perSecond * seconds)) sent.push(append(sent.length));
      if (sent.length < perSecond * seconds) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
  await Promise.all(sent);
  report('done');
  await log.close();
};

const percentileOf = (sorted: readonly number[], share: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!);

/**
 * Measures how far a read model lags behind the log while events are appended at a steady rate. Starts the event store
 * and the database that it needs.
 */
export const lagBench = async (perSecond = 1_000, seconds = 20): Promise<LagFigures> => {
  const { services, supervised, dir } = await startServices();
  const logger = pino({ level: 'warn' }, pino.destination(2));
  const log = openLog(services.eventstoreUrl);
  const worker = await startProjections({ log, databaseUrl: services.databaseUrl, projections: [ideasOf(CATEGORY)], logger });
  const reads = await createReads(services.databaseUrl, logger);
  const lags: number[] = [];
  const task: Task = { url: services.eventstoreUrl, perSecond, seconds: seconds + WARMUP_SECONDS };
  const writer = new Worker(new URL(import.meta.url), { workerData: task });
  const waits: Promise<void>[] = [];
  await new Promise<void>((resolve, reject) => {
    writer.on('error', reject);
    writer.on('message', (message: WriterMessage) => {
      if (message === 'done') return resolve();
      const acknowledged = performance.now();
      waits.push(reads.passed('ideas', message.token, 60_000).then(() => void lags.push(performance.now() - acknowledged)));
    });
  });
  await Promise.all(waits);
  await reads.close();
  await worker.close();
  await log.close();
  for (const each of supervised) await each.stop();
  rmSync(dir, { recursive: true, force: true });
  const sorted = lags.slice(perSecond * WARMUP_SECONDS).sort((a, b) => a - b);
  return {
    perSecond,
    events: sorted.length,
    p50: percentileOf(sorted, 0.5),
    p99: percentileOf(sorted, 0.99),
    max: percentileOf(sorted, 1),
  };
};

if (!isMainThread) await write(workerData as Task);
