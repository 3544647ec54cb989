import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type AllStreamSubscription, ANY, EventStoreDBClient, jsonEvent, NO_STREAM, type Position, START } from '@eventstore/db-client';
import { freePort } from '../../infra/supervision/ports.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { count, median, milliseconds, ratio, table } from './format.ts';
import { annals } from './platform.ts';
import { memoryOf, processorTimeOf } from './processes.ts';

const IN_FLIGHT = 64;
const PER_CALL = 500;
const ROUNDS = 7;
const APPENDS = 4_000;
const READS = 4_000;
const MAX_READ = 50_000;
const EVENTS_A_STREAM = 10;

const newEvent = (line: number) =>
  jsonEvent({
    type: 'OrderLineAdded',
    data: { order_id: `o-${line % 1_000}`, sku: 'SKU-000123', quantity: 3, price: 1_999, at: '2026-01-01T00:00:00.000Z' },
    metadata: { correlation: randomUUID(), causation: randomUUID() },
  });

const serve = async (dir: string) => {
  const port = await freePort();
  const began = performance.now();
  const program = annals(['store', 'serve', '--dir', join(dir, 'store'), '--port', String(port), '--open']);
  await program.waitForOutput(/^store ready/m);
  const took = performance.now() - began;
  return { program, pid: program.child.pid!, took, client: EventStoreDBClient.connectionString(`esdb://127.0.0.1:${port}?tls=false`) };
};

type Server = Awaited<ReturnType<typeof serve>>;

/** Runs `one` for each number up to `total`, so many at once. */
const inFlight = async (total: number, many: number, one: (index: number) => Promise<unknown>): Promise<void> => {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < total; index = next++) await one(index);
  };
  await Promise.all(Array.from({ length: many }, lane));
};

const streamOf = (index: number): string => `order-t.c${index.toString(36).padStart(24, '0')}`;

type Size = { readonly events: number; readonly streams: number };
/** What a log holds, and a place in the middle of it. */
type Held = Size & { readonly middle: Position | typeof START };

const fill = async ({ client }: Server, size: Size): Promise<Held> => {
  await inFlight(size.streams, 4 * IN_FLIGHT, (index) =>
    client.appendToStream(streamOf(index), newEvent(index), { expectedRevision: NO_STREAM }),
  );
  const places: (Position | undefined)[] = [];
  const calls = Math.ceil((size.events - size.streams) / PER_CALL);
  await inFlight(calls, 4, async () => {
    const events = Array.from({ length: PER_CALL }, (_, line) => newEvent(line));
    places.push((await client.appendToStream(anyOf(size), events, { expectedRevision: ANY })).position);
  });
  return { ...size, middle: places[places.length >> 1] ?? START };
};

const anyOf = ({ streams }: Size): string => streamOf(Math.floor(Math.random() * streams));

const drained = async (events: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of events);
};

/** The first of what is sent to a subscription. It is told to end: left alone, it would keep its call. */
const followed = async (subscription: AllStreamSubscription, most: number): Promise<void> => {
  let seen = 0;
  await new Promise<void>((resolve, reject) => {
    subscription.on('error', reject);
    subscription.on('data', () => ++seen === most && resolve());
  });
  subscription.removeAllListeners('error').on('error', () => {});
  await subscription.unsubscribe();
};

type Work = { readonly name: string; readonly each: (held: Held) => number; readonly run: (server: Server, held: Held) => Promise<void> };

/** What is read at once: no more than there is behind the middle. */
const pageOf = ({ events }: Size): number => Math.min(MAX_READ, events >> 1);

const works: readonly Work[] = [
  {
    name: 'append to a stream that is there',
    each: () => APPENDS,
    run: ({ client }, held) =>
      inFlight(APPENDS, IN_FLIGHT, (line) => client.appendToStream(anyOf(held), newEvent(line), { expectedRevision: ANY })),
  },
  {
    name: 'append that creates a stream',
    each: () => APPENDS,
    run: ({ client }) =>
      inFlight(APPENDS, IN_FLIGHT, (line) =>
        client.appendToStream(`order-t.${randomUUID()}`, newEvent(line), { expectedRevision: NO_STREAM }),
      ),
  },
  {
    name: 'read of a stream, its first event',
    each: () => READS,
    run: ({ client }, held) => inFlight(READS, IN_FLIGHT, () => drained(client.readStream(anyOf(held), { maxCount: 1 }))),
  },
  {
    name: 'readAll from the middle, an event',
    each: pageOf,
    run: ({ client }, held) => drained(client.readAll({ fromPosition: held.middle, maxCount: pageOf(held) }, { highWaterMark: 1_000 })),
  },
  {
    name: 'subscribeToAll from the middle, an event',
    each: pageOf,
    run: ({ client }, held) => followed(client.subscribeToAll({ fromPosition: held.middle }), pageOf(held)),
  },
];

type Figures = { readonly rate: number; readonly cpu: number };
type Stage = { readonly dir: string; readonly held: Held; readonly figures: ReadonlyMap<Work, Figures[]>; server: Server };
type Starts = { readonly memory: number; readonly reopened: number; readonly killed: number };

const measured = async ({ server, held }: Stage, { each, run }: Work): Promise<Figures> => {
  const [cpu, began] = [processorTimeOf(server.pid), performance.now()];
  await run(server, held);
  return { rate: (each(held) * 1_000) / (performance.now() - began), cpu: (processorTimeOf(server.pid) - cpu) / each(held) };
};

const again = async (stage: Stage, signal: NodeJS.Signals): Promise<number> => {
  await stage.server.client.dispose();
  await stage.server.program.stop(signal);
  stage.server = await serve(stage.dir);
  return stage.server.took;
};

const startsOf = async (stage: Stage): Promise<Starts> => {
  const memory = memoryOf(stage.server.pid);
  return { memory, reopened: await again(stage, 'SIGTERM'), killed: await again(stage, 'SIGKILL') };
};

const report = (stages: readonly Stage[], starts: readonly Starts[]): string => {
  const head = ['', ...stages.map(({ held }) => `${count(held.events)} events, ${count(held.streams)} streams`), 'last / first'];
  const row = (name: string, values: readonly number[], show: (value: number) => string): string[] => [
    name,
    ...values.map(show),
    ratio(values.at(-1)! / values[0]!),
  ];
  const middles = (work: Work, of: keyof Figures) => stages.map(({ figures }) => median(figures.get(work)!.map((one) => one[of])));
  const startRow = (name: string, of: keyof Starts) =>
    row(
      name,
      starts.map((one) => one[of]),
      count,
    );
  return table(head, [
    ...works.flatMap((work) => [
      row(`${work.name}: a second`, middles(work, 'rate'), count),
      row(`${work.name}: the store's processor time, µs`, middles(work, 'cpu'), milliseconds),
    ]),
    startRow('memory, MiB', 'memory'),
    startRow('start after SIGTERM, ms', 'reopened'),
    startRow('start after SIGKILL, ms', 'killed'),
  ]);
};

/** Embedded stores that hold a hundredth, a tenth and all of so many events, a tenth as many streams: measured in turn, round by round. */
export const growthBench = async (events: number): Promise<string> => {
  const { dir, clear } = createTempDirectory();
  const stages: Stage[] = [];
  for (const share of [100, 10, 1]) {
    const size = { events: Math.ceil(events / share), streams: Math.ceil(events / share / EVENTS_A_STREAM) };
    const place = join(dir, String(size.events));
    const server = await serve(place);
    process.stderr.write(`fills one with ${count(size.events)} events\n`);
    stages.push({ dir: place, server, held: await fill(server, size), figures: new Map(works.map((work) => [work, []])) });
  }
  for (let round = 0; round <= ROUNDS; round++)
    for (const work of works)
      for (const stage of stages) {
        const figures = await measured(stage, work);
        // In the first one they get warm.
        if (round > 0) stage.figures.get(work)!.push(figures);
      }
  const starts: Starts[] = [];
  for (const stage of stages) starts.push(await startsOf(stage));
  for (const { server } of stages) {
    await server.client.dispose();
    await server.program.stop();
  }
  clear();
  return report(stages, starts);
};
