import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import { type Recorded, tokenOf } from '../../domain/event.ts';
import { consumerName } from '../../domain/runners/runner-credential.ts';
import { type DeliveryEvent, factsOf } from '../../domain/webhooks/delivery.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { manager, STREAM } from '../../infra/nats/jetstream.ts';
import { isMissingMessage } from '../../infra/nats/jetstream-errors.ts';
import type { Logged, Observed, Row } from './checker.ts';
import type { Sent } from './load.ts';
import { must, type Platform } from './platform.ts';
import type { Runner } from './runners.ts';
import type { Hook } from './tenants.ts';

/** What nothing has moved in for so long has come to rest: twice the time after which the broker hands a message out again. */
const REST_MS = 70_000;
/** Acknowledgements are reported every few seconds. */
const REPORT_MS = 20_000;

const loggedOf = (event: Recorded<DeliveryEvent>): Logged => {
  const { integration_id, agent_id, provider_delivery_id } = factsOf(event);
  return {
    event_id: event.event_id,
    type: event.type,
    id: event.id,
    agent: agent_id,
    hook: integration_id,
    delivery: provider_delivery_id,
    body: Buffer.from(event.data as Uint8Array).toString(),
  };
};

/** Everything in the log: the deliveries, how many of them were reported as acknowledged, and the last position. */
export const readWhole = async (log: Log) => {
  const deliveries: Logged[] = [];
  const acknowledged = new Set<string>();
  const types = new Map<string, number>();
  let token = '0:0';
  for await (const event of log.readAll()) {
    token = tokenOf(event.position);
    types.set(event.type, (types.get(event.type) ?? 0) + 1);
    if (event.type === 'WebhookAccepted' || event.type === 'WebhookBlocked') deliveries.push(loggedOf(event as Recorded<DeliveryEvent>));
    if (event.type === 'DeliveriesAcknowledged')
      for (const { delivery_id } of (event.data as { deliveries: { delivery_id: string }[] }).deliveries) acknowledged.add(delivery_id);
  }
  return { deliveries, acknowledged, types, token };
};

/** All pages of a list, as soon as the view has passed the token. */
export const listAll = async <T>({ call }: Pick<Platform, 'call'>, path: string, key: string, token?: string): Promise<T[]> => {
  const rows: T[] = [];
  const headers: Record<string, string> = token === undefined ? {} : { 'consistency-token': token };
  for (let next: string | undefined = `${path}${path.includes('?') ? '&' : '?'}limit=200`; next; ) {
    const reply = await call('GET', next, undefined, { key, headers });
    rows.push(...(await must<T[]>(Promise.resolve(reply), 200)));
    next = /<([^>]+)>; *rel="next"/.exec(reply.headers.get('link') ?? '')?.[1];
    if (next) next = new URL(next, 'http://localhost').pathname + new URL(next, 'http://localhost').search;
  }
  return rows;
};

const rowsOf = async (platform: Platform, hooks: readonly Hook[], token: string): Promise<Row[]> => {
  const lists: Row[][] = [];
  for (const { agent, id } of hooks)
    lists.push(await listAll<Row>(platform, `/tenant/${agent.tenant.id}/webhook-integrations/${id}/deliveries`, agent.tenant.key, token));
  return lists.flat();
};

/** Event ids of every message that the stream holds, in its order. */
export const messagesIn = async (nats: NatsConnection): Promise<string[]> => {
  const { streams } = await manager(nats);
  const { state } = await streams.info(STREAM);
  const ids: string[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++)
    await streams.getMessage(STREAM, { seq }).then(
      ({ header }) => ids.push(header.get('Nats-Msg-Id')),
      (error) => {
        if (!isMissingMessage(error)) throw error;
      },
    );
  return ids;
};

/** How many messages are not yet acknowledged, over all runners. */
const openAt = async (nats: NatsConnection, runners: readonly Runner[]): Promise<number> => {
  const { consumers } = await manager(nats);
  const infos = await Promise.all(runners.map(({ agent }) => consumers.info(STREAM, consumerName(agent.id))));
  return infos.reduce((sum, { num_pending, num_ack_pending }) => sum + num_pending + num_ack_pending, 0);
};

/** Resolves when the runners have had so many events and owe the broker nothing, or when nothing has moved for long. */
const rest = async (nats: NatsConnection, runners: readonly Runner[], expected: number): Promise<void> => {
  let movedAt = Date.now();
  for (let last = ''; Date.now() - movedAt < REST_MS; await sleep(250)) {
    const had = runners.reduce((sum, { effects }) => sum + effects().length, 0);
    const open = await openAt(nats, runners);
    if (had >= expected && open === 0) return;
    if (`${had} ${open}` !== last) movedAt = Date.now();
    last = `${had} ${open}`;
  }
};

/** The log when it has as many acknowledgements as there are deliveries, or after some time without. */
const reported = async (log: Log, expected: number) => {
  for (const end = Date.now() + REPORT_MS; ; await sleep(1_000)) {
    const whole = await readWhole(log);
    if (whole.acknowledged.size >= expected || Date.now() > end) return whole;
  }
};

/** Looks everywhere, once everything has come to rest. */
export const observe = async (platform: Platform, sent: readonly Sent[], hooks: readonly Hook[], runners: readonly Runner[]) => {
  const log = platform.openLog();
  const nats = await platform.connectNats();
  try {
    const { deliveries } = await readWhole(log);
    await rest(nats, runners, deliveries.length);
    const { token, acknowledged } = await reported(log, deliveries.length);
    const observed: Observed = {
      sent,
      log: deliveries,
      rows: await rowsOf(platform, hooks, token),
      messages: await messagesIn(nats),
      effects: new Map(runners.map(({ agent, effects }) => [agent.id, effects()])),
      given: runners.flatMap(({ given }) => given()),
    };
    return { observed, acknowledged: acknowledged.size };
  } finally {
    await nats.close();
    await log.close();
  }
};
