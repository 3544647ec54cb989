import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type AllStreamSubscription, ANY, EventStoreDBClient, jsonEvent, NO_STREAM, type Position, START } from '@eventstore/db-client';
import { freePort } from '../../infra/process.ts';
import { annals, scratch } from './annals.ts';
import { count, median, milliseconds, ratio, table } from './format.ts';
import { memoryOf, processorTimeOf } from './processes.ts';

const IN_FLIGHT = 64;
const PER_CALL = 500;
const ROUNDS = 5;
const APPENDS = 2_000;
const READS = 2_000;
const MOST_READ = 50_000;
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
  await program.says(/^store ready/m);
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

const fill = async ({ client }: Server, from: Size, to: Size): Promise<Held> => {
  const created = to.streams - from.streams;
  await inFlight(created, 4 * IN_FLIGHT, (index) =>
    client.appendToStream(streamOf(from.streams + index), newEvent(index), { expectedRevision: NO_STREAM }),
  );
  const places: (Position | undefined)[] = [];
  const calls = Math.ceil((to.events - from.events - created) / PER_CALL);
  await inFlight(calls, 4, async () => {
    const events = Array.from({ length: PER_CALL }, (_, line) => newEvent(line));
    places.push((await client.appendToStream(anyOf(to), events, { expectedRevision: ANY })).position);
  });
  return { ...to, middle: places[places.length >> 1] ?? START };
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
const pageOf = ({ events }: Size): number => Math.min(MOST_READ, events >> 1);

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
    name: 'read of a stream, ten events at most',
    each: () => READS,
    run: ({ client }, held) => inFlight(READS, IN_FLIGHT, () => drained(client.readStream(anyOf(held), { maxCount: 10 }))),
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
type Stage = {
  readonly held: Held;
  readonly works: ReadonlyMap<string, Figures>;
  readonly memory: number;
  readonly reopened: number;
  readonly killed: number;
};

const measured = async (server: Server, held: Held, { each, run }: Work): Promise<Figures> => {
  const rounds: Figures[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [cpu, began] = [processorTimeOf(server.pid), performance.now()];
    await run(server, held);
    rounds.push({ rate: (each(held) * 1_000) / (performance.now() - began), cpu: (processorTimeOf(server.pid) - cpu) / each(held) });
  }
  return { rate: median(rounds.map(({ rate }) => rate)), cpu: median(rounds.map((round) => round.cpu)) };
};

const again = async (dir: string, server: Server, signal: NodeJS.Signals): Promise<Server> => {
  await server.client.dispose();
  await server.program.stop(signal);
  return serve(dir);
};

const report = (stages: readonly Stage[]): string => {
  const head = ['', ...stages.map(({ held }) => `${count(held.events)} events, ${count(held.streams)} streams`), 'last / first'];
  const [first, last] = [stages[0]!, stages.at(-1)!];
  const row = (name: string, of: (stage: Stage) => number, show: (value: number) => string): string[] => [
    name,
    ...stages.map((stage) => show(of(stage))),
    ratio(of(last) / of(first)),
  ];
  return table(head, [
    ...works.flatMap(({ name }) => [
      row(`${name}: a second`, (stage) => stage.works.get(name)!.rate, count),
      row(`${name}: the store's processor time, µs`, (stage) => stage.works.get(name)!.cpu, milliseconds),
    ]),
    row('memory, MiB', ({ memory }) => memory, count),
    row('start after SIGTERM, ms', ({ reopened }) => reopened, count),
    row('start after SIGKILL, ms', ({ killed }) => killed, count),
  ]);
};

/** The embedded store at a hundredth, a tenth and all of so many events, a tenth as many streams. */
export const growthBench = async (events: number): Promise<string> => {
  const { dir, clear } = scratch();
  let server = await serve(dir);
  let held: Held = { events: 0, streams: 0, middle: START };
  const stages: Stage[] = [];
  for (const share of [100, 10, 1]) {
    const next = { events: Math.ceil(events / share), streams: Math.ceil(events / share / EVENTS_A_STREAM) };
    process.stderr.write(`fills up to ${count(next.events)} events\n`);
    held = await fill(server, held, next);
    const figures = new Map<string, Figures>();
    for (const work of works) figures.set(work.name, await measured(server, held, work));
    const memory = memoryOf(server.pid);
    server = await again(dir, server, 'SIGTERM');
    const reopened = server.took;
    server = await again(dir, server, 'SIGKILL');
    stages.push({ held, works: figures, memory, reopened, killed: server.took });
    process.stderr.write(`${report(stages)}\n`);
  }
  await server.client.dispose();
  await server.program.stop();
  clear();
  return report(stages);
};
