import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type AllStreamSubscription, ANY, EventStoreDBClient, jsonEvent, NO_STREAM, type Position, START } from '@eventstore/db-client';
import { freePort } from '../../infra/supervision/ports.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { count, median, milliseconds, ratio, table } from './format.ts';
import { startCommand } from './platform.ts';
import { memoryOf, processorTimeOf } from './processes.ts';

const CONCURRENCY = 64;
const EVENTS_PER_APPEND = 500;
const ROUNDS = 7;
const APPENDS = 4_000;
const READS = 4_000;
const MAX_READ = 50_000;
const EVENTS_PER_STREAM = 10;

const newEvent = (line: number) =>
  jsonEvent({
    type: 'OrderLineAdded',
    data: { order_id: `o-${line % 1_000}`, sku: 'SKU-000123', quantity: 3, price: 1_999, at: '2026-01-01T00:00:00.000Z' },
    metadata: { correlation: randomUUID(), causation: randomUUID() },
  });

const serve = async (dir: string) => {
  const port = await freePort();
  const startedAt = performance.now();
  const program = startCommand(['store', 'serve', '--dir', join(dir, 'store'), '--port', String(port), '--open']);
  await program.waitForOutput(/^store ready/m);
  const startMs = performance.now() - startedAt;
  return { program, pid: program.child.pid!, startMs, client: EventStoreDBClient.connectionString(`esdb://127.0.0.1:${port}?tls=false`) };
};

type Server = Awaited<ReturnType<typeof serve>>;

/** Runs `task` for each index below `total`. At most `concurrency` tasks run at a time. */
const runConcurrently = async (total: number, concurrency: number, task: (index: number) => Promise<unknown>): Promise<void> => {
  let next = 0;
  const runNext = async (): Promise<void> => {
    for (let index = next++; index < total; index = next++) await task(index);
  };
  await Promise.all(Array.from({ length: concurrency }, runNext));
};

const streamOf = (index: number): string => `order-t.c${index.toString(36).padStart(24, '0')}`;

type Size = { readonly events: number; readonly streams: number };
/** The size of a store's log, and the log position of an event in the middle of the log. */
type StoredLog = Size & { readonly middle: Position | typeof START };

const fillStore = async ({ client }: Server, size: Size): Promise<StoredLog> => {
  await runConcurrently(size.streams, 4 * CONCURRENCY, (index) =>
    client.appendToStream(streamOf(index), newEvent(index), { expectedRevision: NO_STREAM }),
  );
  const positions: (Position | undefined)[] = [];
  const calls = Math.ceil((size.events - size.streams) / EVENTS_PER_APPEND);
  await runConcurrently(calls, 4, async () => {
    const events = Array.from({ length: EVENTS_PER_APPEND }, (_, line) => newEvent(line));
    positions.push((await client.appendToStream(randomStream(size), events, { expectedRevision: ANY })).position);
  });
  return { ...size, middle: positions[positions.length >> 1] ?? START };
};

const randomStream = ({ streams }: Size): string => streamOf(Math.floor(Math.random() * streams));

const drain = async (events: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of events);
};

/** Receives `count` events from a subscription, and then unsubscribes to end the call of the subscription. */
const readFromSubscription = async (subscription: AllStreamSubscription, count: number): Promise<void> => {
  let seen = 0;
  await new Promise<void>((resolve, reject) => {
    subscription.on('error', reject);
    subscription.on('data', () => ++seen === count && resolve());
  });
  subscription.removeAllListeners('error').on('error', () => {});
  await subscription.unsubscribe();
};

type StoreWorkload = {
  readonly name: string;
  readonly operations: (held: StoredLog) => number;
  readonly run: (server: Server, held: StoredLog) => Promise<void>;
};

/**
 * Returns the number of events that a workload reads. It is at most half of the log, because the reads start in the
 * middle.
 */
const readCountOf = ({ events }: Size): number => Math.min(MAX_READ, events >> 1);

const storeWorkloads: readonly StoreWorkload[] = [
  {
    name: 'append to an existing stream',
    operations: () => APPENDS,
    run: ({ client }, held) =>
      runConcurrently(APPENDS, CONCURRENCY, (line) => client.appendToStream(randomStream(held), newEvent(line), { expectedRevision: ANY })),
  },
  {
    name: 'append that creates a stream',
    operations: () => APPENDS,
    run: ({ client }) =>
      runConcurrently(APPENDS, CONCURRENCY, (line) =>
        client.appendToStream(`order-t.${randomUUID()}`, newEvent(line), { expectedRevision: NO_STREAM }),
      ),
  },
  {
    name: 'read of a stream, its first event',
    operations: () => READS,
    run: ({ client }, held) => runConcurrently(READS, CONCURRENCY, () => drain(client.readStream(randomStream(held), { maxCount: 1 }))),
  },
  {
    name: 'readAll from the middle, per event',
    operations: readCountOf,
    run: ({ client }, held) => drain(client.readAll({ fromPosition: held.middle, maxCount: readCountOf(held) }, { highWaterMark: 1_000 })),
  },
  {
    name: 'subscribeToAll from the middle, per event',
    operations: readCountOf,
    run: ({ client }, held) => readFromSubscription(client.subscribeToAll({ fromPosition: held.middle }), readCountOf(held)),
  },
];

type Figures = { readonly rate: number; readonly cpu: number };
type Stage = { readonly dir: string; readonly log: StoredLog; readonly figures: ReadonlyMap<StoreWorkload, Figures[]>; server: Server };
type StartFigures = { readonly memory: number; readonly reopened: number; readonly killed: number };

const measure = async ({ server, log }: Stage, { operations, run }: StoreWorkload): Promise<Figures> => {
  const [cpu, startedAt] = [processorTimeOf(server.pid), performance.now()];
  await run(server, log);
  return { rate: (operations(log) * 1_000) / (performance.now() - startedAt), cpu: (processorTimeOf(server.pid) - cpu) / operations(log) };
};

const restart = async (stage: Stage, signal: NodeJS.Signals): Promise<number> => {
  await stage.server.client.dispose();
  await stage.server.program.stop(signal);
  stage.server = await serve(stage.dir);
  return stage.server.startMs;
};

const measureStarts = async (stage: Stage): Promise<StartFigures> => {
  const memory = memoryOf(stage.server.pid);
  return { memory, reopened: await restart(stage, 'SIGTERM'), killed: await restart(stage, 'SIGKILL') };
};

const report = (stages: readonly Stage[], starts: readonly StartFigures[]): string => {
  const head = ['', ...stages.map(({ log }) => `${count(log.events)} events, ${count(log.streams)} streams`), 'last / first'];
  const row = (name: string, values: readonly number[], show: (value: number) => string): string[] => [
    name,
    ...values.map(show),
    ratio(values.at(-1)! / values[0]!),
  ];
  const mediansOf = (work: StoreWorkload, of: keyof Figures) =>
    stages.map(({ figures }) => median(figures.get(work)!.map((one) => one[of])));
  const startRow = (name: string, of: keyof StartFigures) =>
    row(
      name,
      starts.map((one) => one[of]),
      count,
    );
  return table(head, [
    ...storeWorkloads.flatMap((work) => [
      row(`${work.name}: per second`, mediansOf(work, 'rate'), count),
      row(`${work.name}: the store's processor time, µs`, mediansOf(work, 'cpu'), milliseconds),
    ]),
    startRow('memory, MiB', 'memory'),
    startRow('start after SIGTERM, ms', 'reopened'),
    startRow('start after SIGKILL, ms', 'killed'),
  ]);
};

/**
 * Measures three embedded stores, with a hundredth, a tenth and all of `events`. Each store has ten times as many
 * events as streams. In each round, every workload runs on all three stores, one after another. @returns a table of the
 * figures as text
 */
export const growthBench = async (events: number): Promise<string> => {
  const { dir, clear } = createTempDirectory();
  const stages: Stage[] = [];
  for (const share of [100, 10, 1]) {
    const size = { events: Math.ceil(events / share), streams: Math.ceil(events / share / EVENTS_PER_STREAM) };
    const storeDir = join(dir, String(size.events));
    const server = await serve(storeDir);
    process.stderr.write(`filling a store with ${count(size.events)} events\n`);
    stages.push({ dir: storeDir, server, log: await fillStore(server, size), figures: new Map(storeWorkloads.map((work) => [work, []])) });
  }
  for (let round = 0; round <= ROUNDS; round++)
    for (const work of storeWorkloads)
      for (const stage of stages) {
        const figures = await measure(stage, work);
        // Discard the results of the first round: it only warms the stores up.
        if (round > 0) stage.figures.get(work)!.push(figures);
      }
  const starts: StartFigures[] = [];
  for (const stage of stages) starts.push(await measureStarts(stage));
  for (const { server } of stages) {
    await server.client.dispose();
    await server.program.stop();
  }
  clear();
  return report(stages, starts);
};
