import { randomBytes } from 'node:crypto';
import { connect, credsAuthenticator, type NatsConnection } from 'nats';
import { STREAM } from '../../domain/runners/runner-credential.ts';
import { encodeRequest } from './connection.ts';
import { call, type Dataset, waitUntilVisible } from './dataset.ts';
import { figuresOf, histogram, type LoadFigures, load, record } from './load.ts';
import { runLoadProcess } from './measure.ts';
import { agentBody, pushBody, signatureOf } from './payload.ts';
import type { RunningPlatform } from './platform.ts';
import { createRequestFactory, nameOf, PLACEHOLDER, type RequestSet } from './request-names.ts';

export type Bench = {
  readonly platform: RunningPlatform;
  readonly dataset: Dataset;
  readonly seconds: number;
  readonly warmup: number;
};

export type Workload = {
  readonly name: string;
  readonly title: string;
  readonly run: (bench: Bench) => Promise<LoadFigures>;
  /** Whether the workload's requests change data. If so, the platform has background work after the responses. */
  readonly writes?: true;
};

const CONNECTIONS = 64;
const BODIES_PER_INTEGRATION = 8;
const DELIVERIES_PER_SECOND = 100;
const PAGE = 50;

const newRun = (): string => randomBytes(4).toString('hex');

const deliveries = ({ integrations }: Dataset): string[] =>
  integrations.flatMap(({ id, secret }, number) =>
    Array.from({ length: BODIES_PER_INTEGRATION }, (_, each) => {
      const body = pushBody(number * BODIES_PER_INTEGRATION + each);
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'GitHub-Hookshot/bench',
        'x-github-event': 'push',
        'x-github-delivery': PLACEHOLDER,
        'x-hub-signature-256': signatureOf(secret, body),
      };
      return encodeRequest({ method: 'POST', path: `/hooks/inbound/${id}`, headers, body });
    }),
  );

export const deliveryRequests = (fixture: Dataset, naming: RequestSet['naming']): RequestSet => ({
  texts: deliveries(fixture),
  order: 'turn',
  naming,
  run: newRun(),
});

const authorized = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

const creations = ({ tenants }: Dataset): string[] =>
  tenants.map(({ id, key }) =>
    encodeRequest({
      method: 'POST',
      path: `/tenant/${id}/agents`,
      headers: { ...authorized(key), 'content-type': 'application/json' },
      body: agentBody(PLACEHOLDER),
    }),
  );

const details = ({ agents, tenants }: Dataset): string[] =>
  agents.map(({ id, tenant }) =>
    encodeRequest({ method: 'GET', path: `/tenant/${tenants[tenant]!.id}/agents/${id}`, headers: authorized(tenants[tenant]!.key) }),
  );

const lists = ({ tenants }: Dataset): string[] =>
  tenants.map(({ id, key }) => encodeRequest({ method: 'GET', path: `/tenant/${id}/agents?limit=${PAGE}`, headers: authorized(key) }));

const runRequests =
  (order: RequestSet['order'], texts: (fixture: Dataset) => string[]) =>
  ({ platform: { port }, dataset, warmup, seconds }: Bench): Promise<LoadFigures> =>
    runLoadProcess({
      port,
      warmup,
      seconds,
      connections: CONNECTIONS,
      requests: { texts: texts(dataset), order, naming: 'each', run: newRun() },
    });

const runDeliveries =
  (naming: RequestSet['naming']) =>
  ({ platform: { port }, dataset, warmup, seconds }: Bench): Promise<LoadFigures> =>
    runLoadProcess({ port, warmup, seconds, connections: CONNECTIONS, requests: deliveryRequests(dataset, naming) });

const connectBroker = (annals: RunningPlatform): Promise<NatsConnection> =>
  connect({ servers: annals.natsUrl(), authenticator: credsAuthenticator(annals.natsCredentials()) });

const DELIVERY_ID = /"providerid":"([^"]+)"/;
const MAX_LATENESS_MS = 10_000;

/**
 * Sends deliveries at a fixed rate. The measured time of a delivery starts when it is due, and ends when a subscriber
 * of the broker receives its message.
 */
const runDeliveriesToRunner = async ({ platform, dataset, warmup, seconds }: Bench): Promise<LoadFigures> => {
  const nats = await connectBroker(platform);
  const times = histogram();
  const dueAt = new Map<string, number>();
  nats.subscribe('agents.>', {
    callback: (_, message) => {
      const id = DELIVERY_ID.exec(message.string())?.[1] ?? '';
      const due = dueAt.get(id);
      if (due !== undefined && dueAt.delete(id)) record(times, performance.now() - due);
    },
  });
  await nats.flush();
  const requests = deliveryRequests(dataset, 'each');
  const bytesOf = createRequestFactory(requests);
  const request = (number: number, due: number): Buffer => {
    dueAt.set(nameOf(requests.run, number), due);
    return bytesOf(number);
  };
  const loaded = await load({ port: platform.port, warmup, seconds, connections: CONNECTIONS, rate: DELIVERIES_PER_SECOND, request });
  for (const end = Date.now() + MAX_LATENESS_MS; dueAt.size > 0 && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 20));
  await nats.close();
  return { ...loaded, ...figuresOf(times, warmup + seconds, dueAt.size) };
};

/** The workloads in the order in which they run. The ones that only read come first. */
export const workloads: readonly Workload[] = [
  { name: 'W4', title: 'GET one agent of them all', run: runRequests('random', details) },
  { name: 'W5', title: 'GET a page of 50 agents', run: runRequests('random', lists) },
  { name: 'W3', title: 'create an agent', run: runRequests('turn', creations), writes: true },
  { name: 'W1', title: 'signed 2 KB deliveries, fresh ids', run: runDeliveries('each'), writes: true },
  { name: 'W2', title: 'the same, half of them redeliveries', run: runDeliveries('twice'), writes: true },
  { name: 'W6', title: 'post to runner, 100/s', run: runDeliveriesToRunner, writes: true },
];

/**
 * Waits until the read models include every event of the workload. Creates an agent and waits until its event is
 * included too.
 */
export const waitForProjections = async ({ platform, dataset }: Pick<Bench, 'platform' | 'dataset'>): Promise<void> => {
  const { id, tenant } = dataset.integrations[0]!;
  const owner = dataset.tenants[tenant]!;
  const body = agentBody(`settled-${newRun()}`);
  const { headers } = await call(platform.port, owner.key, 'POST', `/tenant/${owner.id}/agents`, body);
  const token = headers.get('consistency-token') ?? '';
  await Promise.all([
    waitUntilVisible(platform.port, owner.key, `/tenant/${owner.id}/agents?limit=1`, token),
    waitUntilVisible(platform.port, owner.key, `/tenant/${owner.id}/webhook-integrations/${id}/deliveries?limit=1`, token),
    waitUntilVisible(platform.port, owner.key, `/tenant/${owner.id}/audit-logs?limit=1`, token),
  ]);
};

/**
 * Waits until the read models and the broker have received every event of the workload. @returns the duration in
 * seconds
 */
export const waitUntilIdle = async (bench: Bench): Promise<number> => {
  const startedAt = performance.now();
  await Promise.all([waitForProjections(bench), waitForRelay(bench.platform)]);
  return (performance.now() - startedAt) / 1_000;
};

const IDLE_MS = 300;

/** Waits until the broker's stream of messages for runners has not grown for 300 ms. */
const waitForRelay = async (annals: RunningPlatform): Promise<void> => {
  const nats = await connectBroker(annals);
  const { streams } = await nats.jetstreamManager();
  const last = async (): Promise<number> => (await streams.info(STREAM)).state.last_seq;
  for (let seen = -1, now = await last(); now !== seen; now = await last()) {
    seen = now;
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  }
  await nats.close();
};
