import { execFileSync } from 'node:child_process';
import { AckPolicy, type ConsumerMessages, connect, credsAuthenticator, type NatsConnection, StorageType } from 'nats';
import { ensureConsumer } from '../../infra/nats/jetstream.ts';
import { call, fillPlatform } from './dataset.ts';
import { count, milliseconds, table } from './format.ts';
import { type Figures, figuresOf, histogram, type LoadOptions, load, record } from './load.ts';
import { startPlatform } from './platform.ts';
import { createRequestFactory, nameOf } from './request-names.ts';
import { type Bench, deliveryRequests, waitUntilIdle } from './workloads.ts';

const SIZES = { tenants: 2, agents: 10_000, integrations: 20 };
const RATE = 100;
const CONNECTIONS = 16;
const WARMUP_SECONDS = 3;
const PROBE_STREAM = 'BENCH_PROBE';
const PROBE_INTERVAL_MS = 10;
const DELIVERY_ID = /"providerid":"([^"]+)"/;
const MAX_LATENESS_MS = 10_000;
const POLL_MS = 20;

const consumeWith = async (nats: NatsConnection, stream: string, consumer: string, onMessage: (text: string) => void) => {
  const messages: ConsumerMessages = await (await nats.jetstream().consumers.get(stream, consumer)).consume({
    max_messages: 200,
    callback: (message) => {
      onMessage(message.string());
      message.ack();
    },
  });
  return messages;
};

/**
 * Publishes small messages to a separate NATS stream at the rate at which deliveries are sent, and receives them.
 * @returns a function that stops this, and returns for each message the time from its publication to its receipt
 */
const startProbe = async (nats: NatsConnection): Promise<() => Promise<Figures>> => {
  const { streams, consumers } = await nats.jetstreamManager();
  await streams.add({ name: PROBE_STREAM, subjects: [PROBE_STREAM], storage: StorageType.File });
  await consumers.add(PROBE_STREAM, { durable_name: 'probe', ack_policy: AckPolicy.Explicit });
  const times = histogram();
  const received = await consumeWith(nats, PROBE_STREAM, 'probe', (text) => record(times, performance.now() - Number(text)));
  const startedAt = performance.now();
  const timer = setInterval(() => void nats.jetstream().publish(PROBE_STREAM, String(performance.now())), PROBE_INTERVAL_MS);
  return async () => {
    clearInterval(timer);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await received.close();
    await streams.delete(PROBE_STREAM);
    return figuresOf(times, (performance.now() - startedAt) / 1_000);
  };
};

/**
 * Sends deliveries at a fixed rate. Measures the time from the moment when each delivery was due until a runner
 * received it. @returns these times; `failed` is the number of deliveries that got 202 but were not received
 */
const sendDeliveries = async ({ platform, dataset, seconds, warmup }: Bench, nats: NatsConnection): Promise<Figures> => {
  const times = histogram();
  const dueAt = new Map<string, number>();
  const accepted = new Set<string>();
  const lost = (): number => [...dueAt.keys()].filter((name) => accepted.has(name)).length;
  const startedAt = performance.now();
  const onMessage = (text: string): void => {
    const id = DELIVERY_ID.exec(text)?.[1] ?? '';
    const due = dueAt.get(id);
    if (due !== undefined && dueAt.delete(id) && due > startedAt + warmup * 1_000) record(times, performance.now() - due);
  };
  const agents = new Map(dataset.integrations.map(({ agent, tenant }) => [agent, dataset.tenants[tenant]!.id]));
  const runners: ConsumerMessages[] = [];
  for (const [agent, tenant] of agents) {
    const { stream_name, name } = await ensureConsumer(nats, tenant, agent);
    runners.push(await consumeWith(nats, stream_name, name, onMessage));
  }
  const requests = deliveryRequests(dataset, 'each');
  const bytesOf = createRequestFactory(requests);
  const request = (number: number, due: number): Buffer => {
    dueAt.set(nameOf(requests.run, number), due);
    return bytesOf(number);
  };
  const onResponse: LoadOptions['onResponse'] = (number, { status }) => status === 202 && accepted.add(nameOf(requests.run, number));
  await load({ port: platform.port, warmup, seconds, connections: CONNECTIONS, rate: RATE, request, onResponse });
  for (const end = Date.now() + MAX_LATENESS_MS; lost() > 0 && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  await Promise.all(runners.map((each) => each.close()));
  return figuresOf(times, seconds, lost());
};

/**
 * Rebuilds projections one after another. @returns a function that stops the rebuilds and returns the number of
 * completed ones
 */
const startRebuilds = ({ platform: { port, key } }: Bench): (() => Promise<number>) => {
  let isStopped = false;
  let rebuilt = 0;
  const rebuild = async (name: string): Promise<void> => {
    const { status, text } = await call(port, key, 'POST', `/admin/projections/${name}/rebuild`);
    if (status !== 202) throw new Error(`the rebuild of ${name} was answered ${status}: ${text}`);
    const path = `/admin/projections/${name}/rebuilds/${(JSON.parse(text) as { id: string }).id}`;
    const state = async (): Promise<string> => (JSON.parse((await call(port, key, 'GET', path)).text) as { state: string }).state;
    while ((await state()) === 'running') await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    await call(port, key, 'POST', `${path}/abort`);
    rebuilt++;
  };
  const running = (async () => {
    while (!isStopped) for (const name of ['agents', 'deliveries']) if (!isStopped) await rebuild(name);
  })();
  return async () => {
    isStopped = true;
    await running;
    return rebuilt;
  };
};

type Measurement = { readonly delivery: Figures; readonly broker: Figures; readonly rebuilt: number };

const measure = async (bench: Bench, nats: NatsConnection, withRebuilds: boolean): Promise<Measurement> => {
  const endProbe = await startProbe(nats);
  const endRebuilds = withRebuilds ? startRebuilds(bench) : async () => 0;
  const delivery = await sendDeliveries(bench, nats);
  return { delivery, rebuilt: await endRebuilds(), broker: await endProbe() };
};

/**
 * Measures the time from the post of a delivery to its receipt by a runner, at 100 deliveries per second. For
 * comparison, it also measures the time of messages that are published directly to NATS. Each run has two parts: in the
 * second one, projections are rebuilt at the same time. @returns a table of the figures as text
 */
export const deliveryBench = async (runs: number, seconds: number): Promise<string> => {
  const platform = await startPlatform();
  const dataset = await fillPlatform(platform.port, platform.key, SIZES);
  const bench: Bench = { platform, dataset, seconds, warmup: WARMUP_SECONDS };
  await waitUntilIdle(bench);
  // Otherwise, the disk writes back the filled data during the measurement, and a delivery waits for it.
  execFileSync('sync');
  const authenticator = credsAuthenticator(platform.natsCredentials());
  const nats = await connect({ servers: platform.natsUrl(), authenticator });
  const rows: string[][] = [];
  for (let run = 1; run <= runs; run++)
    for (const withRebuilds of [false, true]) {
      const { delivery, broker, rebuilt } = await measure(bench, nats, withRebuilds);
      const times = [delivery.p50, delivery.p99, broker.p50, broker.p99, delivery.p99 - broker.p99].map(milliseconds);
      rows.push([
        `${run}, ${withRebuilds ? `${rebuilt} rebuilds` : 'no rebuild'}`,
        count(delivery.rate),
        ...times,
        String(delivery.failed),
      ]);
    }
  await nats.close();
  return table(['run', 'deliveries/s', 'p50 ms', 'p99 ms', 'JetStream p50', 'JetStream p99', 'p99 above it', 'lost'], rows);
};
