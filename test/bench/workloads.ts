import { randomBytes } from 'node:crypto';
import { connect, credsAuthenticator, type NatsConnection } from 'nats';
import { STREAM } from '../../domain/runners/runner-credential.ts';
import { encode } from './connection.ts';
import { call, type Fixture, shown } from './dataset.ts';
import { figuresOf, histogram, type LoadFigures, load, record } from './load.ts';
import { loadApart } from './measure.ts';
import { agentBody, pushBody, signatureOf } from './payload.ts';
import type { Annals } from './platform.ts';
import { MARK, nameOf, shooter, type Volley } from './request-names.ts';

export type Bench = {
  readonly annals: Annals;
  readonly fixture: Fixture;
  readonly seconds: number;
  readonly warmup: number;
};

export type Workload = {
  readonly name: string;
  readonly title: string;
  readonly run: (bench: Bench) => Promise<LoadFigures>;
  /** What it changes goes on in the background for a while. */
  readonly writes?: true;
};

const CONNECTIONS = 64;
const BODIES_EACH = 8;
const DELIVERIES_A_SECOND = 100;
const PAGE = 50;

const newRun = (): string => randomBytes(4).toString('hex');

const deliveries = ({ integrations }: Fixture): string[] =>
  integrations.flatMap(({ id, secret }, number) =>
    Array.from({ length: BODIES_EACH }, (_, each) => {
      const body = pushBody(number * BODIES_EACH + each);
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'GitHub-Hookshot/bench',
        'x-github-event': 'push',
        'x-github-delivery': MARK,
        'x-hub-signature-256': signatureOf(secret, body),
      };
      return encode({ method: 'POST', path: `/hooks/inbound/${id}`, headers, body });
    }),
  );

export const deliveryVolley = (fixture: Fixture, naming: Volley['naming']): Volley => ({
  texts: deliveries(fixture),
  order: 'turn',
  naming,
  run: newRun(),
});

const authorized = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

const creations = ({ tenants }: Fixture): string[] =>
  tenants.map(({ id, key }) =>
    encode({
      method: 'POST',
      path: `/tenant/${id}/agents`,
      headers: { ...authorized(key), 'content-type': 'application/json' },
      body: agentBody(MARK),
    }),
  );

const details = ({ agents, tenants }: Fixture): string[] =>
  agents.map(({ id, tenant }) =>
    encode({ method: 'GET', path: `/tenant/${tenants[tenant]!.id}/agents/${id}`, headers: authorized(tenants[tenant]!.key) }),
  );

const lists = ({ tenants }: Fixture): string[] =>
  tenants.map(({ id, key }) => encode({ method: 'GET', path: `/tenant/${id}/agents?limit=${PAGE}`, headers: authorized(key) }));

const volley =
  (order: Volley['order'], texts: (fixture: Fixture) => string[]) =>
  ({ annals: { port }, fixture, warmup, seconds }: Bench): Promise<LoadFigures> =>
    loadApart({ port, warmup, seconds, connections: CONNECTIONS, volley: { texts: texts(fixture), order, naming: 'each', run: newRun() } });

const hooks =
  (naming: Volley['naming']) =>
  ({ annals: { port }, fixture, warmup, seconds }: Bench): Promise<LoadFigures> =>
    loadApart({ port, warmup, seconds, connections: CONNECTIONS, volley: deliveryVolley(fixture, naming) });

export const asRunner = (annals: Annals): Promise<NatsConnection> =>
  connect({ servers: annals.natsUrl(), authenticator: credsAuthenticator(annals.natsCredentials()) });

const DELIVERY_ID = /"delivery_id":"([^"]+)"/;
const LATE_MS = 10_000;

/** Deliveries at a fixed rate: from when each was due to when a subscriber of the broker has it. */
const toRunner = async ({ annals, fixture, warmup, seconds }: Bench): Promise<LoadFigures> => {
  const nats = await asRunner(annals);
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
  const wanted = deliveryVolley(fixture, 'each');
  const shot = shooter(wanted);
  const request = (number: number, due: number): Buffer => {
    dueAt.set(nameOf(wanted.run, number), due);
    return shot(number);
  };
  const loaded = await load({ port: annals.port, warmup, seconds, connections: CONNECTIONS, rate: DELIVERIES_A_SECOND, request });
  for (const end = Date.now() + LATE_MS; dueAt.size > 0 && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 20));
  await nats.close();
  return { ...loaded, ...figuresOf(times, warmup + seconds, dueAt.size) };
};

/** In the order in which they run: what only reads comes first. */
export const workloads: readonly Workload[] = [
  { name: 'W4', title: 'GET one agent of them all', run: volley('random', details) },
  { name: 'W5', title: 'GET a page of 50 agents', run: volley('random', lists) },
  { name: 'W3', title: 'create an agent', run: volley('turn', creations), writes: true },
  { name: 'W1', title: 'signed 2 KB deliveries, fresh ids', run: hooks('each'), writes: true },
  { name: 'W2', title: 'the same, half of them redeliveries', run: hooks('twice'), writes: true },
  { name: 'W6', title: 'post to runner, 100/s', run: toRunner, writes: true },
];

/** Waits until all that was written has reached the views. */
export const viewed = async ({ annals, fixture }: Pick<Bench, 'annals' | 'fixture'>): Promise<void> => {
  const { id, tenant } = fixture.integrations[0]!;
  const owner = fixture.tenants[tenant]!;
  const body = agentBody(`settled-${newRun()}`);
  const { headers } = await call(annals.port, owner.key, 'POST', `/tenant/${owner.id}/agents`, body);
  const token = headers.get('consistency-token') ?? '';
  await Promise.all([
    shown(annals.port, owner.key, `/tenant/${owner.id}/agents?limit=1`, token),
    shown(annals.port, owner.key, `/tenant/${owner.id}/webhook-integrations/${id}/deliveries?limit=1`, token),
    shown(annals.port, owner.key, `/tenant/${owner.id}/audit-logs?limit=1`, token),
  ]);
};

/** Waits until all that was written has reached the views and the broker. @returns how many seconds that took */
export const settled = async (bench: Bench): Promise<number> => {
  const began = performance.now();
  await Promise.all([viewed(bench), relayed(bench.annals)]);
  return (performance.now() - began) / 1_000;
};

const IDLE_MS = 300;

/** Resolves when the runners' stream grows no more. */
const relayed = async (annals: Annals): Promise<void> => {
  const nats = await asRunner(annals);
  const { streams } = await nats.jetstreamManager();
  const last = async (): Promise<number> => (await streams.info(STREAM)).state.last_seq;
  for (let seen = -1, now = await last(); now !== seen; now = await last()) {
    seen = now;
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  }
  await nats.close();
};
