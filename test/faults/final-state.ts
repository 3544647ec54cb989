import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import { type Recorded, tokenOf } from '../../domain/event.ts';
import { consumerName } from '../../domain/runners/runner-credential.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { manager, STREAM } from '../../infra/nats/jetstream.ts';
import { CONSUMER_NOT_FOUND, isMissingMessage, nullOnCode } from '../../infra/nats/jetstream-errors.ts';
import type { SealedEvents } from '../../infra/vault/sealed-events.ts';
import { deadline } from '../fixtures/load-factor.ts';
import type { DeliveryRow, FinalState, LoggedDelivery } from './checker.ts';
import type { SentDelivery } from './load.ts';
import type { Runner } from './runners.ts';
import { expectReply, type RunningPlatform } from './running-platform.ts';
import type { Hook } from './tenants.ts';

/**
 * If the runners make no progress for this time, their work counts as done. The broker redelivers an unacknowledged
 * message after half of this time.
 */
const IDLE_TIMEOUT_MS = 70_000;
/**
 * The maximum time to wait until the platform has recorded all acknowledgements, on an idle machine. It records them
 * every few seconds.
 */
const ACKNOWLEDGEMENT_TIMEOUT_MS = 30_000;

const loggedOf = (event: Recorded): LoggedDelivery => {
  const { integration_id, agent_id, provider_delivery_id } = factsOf(event);
  return {
    event_id: event.event_id,
    type: event.type,
    id: event.id,
    agentId: agent_id,
    hookId: integration_id,
    deliveryId: provider_delivery_id,
    body: Buffer.from(event.data as Uint8Array).toString(),
  };
};

/** Returns the ids of the deliveries whose acknowledgement an event records. */
const acknowledgedBy = ({ type, data }: Recorded): string[] =>
  type === 'DeliveriesAcknowledged'
    ? (data as { deliveries: { delivery_id: string }[] }).deliveries.map(({ delivery_id }) => delivery_id)
    : [];

/**
 * Reads the whole log. @returns the deliveries with their decrypted bodies, the ids of the acknowledged deliveries, the
 * number of events of each type, and the position of the last event
 */
export const readLog = async (log: Log, openEvent: SealedEvents['openEvent']) => {
  const deliveries: LoggedDelivery[] = [];
  const acknowledged = new Set<string>();
  const types = new Map<string, number>();
  let end: Recorded['position'] | undefined;
  for await (const event of log.readAll()) {
    end = event.position;
    types.set(event.type, (types.get(event.type) ?? 0) + 1);
    if (event.type === 'WebhookAccepted' || event.type === 'WebhookBlocked') deliveries.push(loggedOf(await openEvent(event)));
    for (const id of acknowledgedBy(event)) acknowledged.add(id);
  }
  return { deliveries, acknowledged, types, end: end! };
};

/**
 * Reads all pages of a list and returns their rows. Each response waits until the read model has reached the
 * consistency token.
 */
export const listAll = async <T>({ call }: Pick<RunningPlatform, 'call'>, path: string, key: string, token?: string): Promise<T[]> => {
  const rows: T[] = [];
  const headers: Record<string, string> = token === undefined ? {} : { 'consistency-token': token };
  for (let next: string | undefined = `${path}${path.includes('?') ? '&' : '?'}limit=200`; next; ) {
    const reply = await call('GET', next, undefined, { key, headers });
    rows.push(...(await expectReply<T[]>(Promise.resolve(reply), 200)));
    next = /<([^>]+)>; *rel="next"/.exec(reply.headers.get('link') ?? '')?.[1];
    if (next) next = new URL(next, 'http://localhost').pathname + new URL(next, 'http://localhost').search;
  }
  return rows;
};

const rowsOf = async (platform: RunningPlatform, hooks: readonly Hook[], token: string): Promise<DeliveryRow[]> => {
  const lists: DeliveryRow[][] = [];
  for (const { agent, id } of hooks)
    lists.push(
      await listAll<DeliveryRow>(platform, `/tenant/${agent.tenant.id}/webhook-integrations/${id}/deliveries`, agent.tenant.key, token),
    );
  return lists.flat();
};

/** Returns the event ids of the messages in the broker's stream, in stream order: of all, or of those with a subject. */
export const readMessageIds = async (nats: NatsConnection, onlySubject?: string): Promise<string[]> => {
  const { streams } = await manager(nats);
  const { state } = await streams.info(STREAM);
  const ids: string[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++)
    await streams.getMessage(STREAM, { seq }).then(
      ({ header, subject }) => {
        if (onlySubject === undefined || subject === onlySubject) ids.push(header.get('Nats-Msg-Id'));
      },
      (error) => {
        if (!isMissingMessage(error)) throw error;
      },
    );
  return ids;
};

/**
 * Returns the number of messages that the runners have not yet acknowledged. A runner has no consumer until the service
 * has given it credentials; then the number is infinite.
 */
const unacknowledgedCount = async (nats: NatsConnection, runners: readonly Runner[]): Promise<number> => {
  const { consumers } = await manager(nats);
  const infos = await Promise.all(
    runners.map(({ agent }) => nullOnCode(consumers.info(STREAM, consumerName(agent.id)), CONSUMER_NOT_FOUND)),
  );
  return infos.reduce((sum, info) => sum + (info ? info.num_pending + info.num_ack_pending : Number.POSITIVE_INFINITY), 0);
};

/**
 * Resolves when the commands of the runners have had `expected` effects and all messages are acknowledged, or when
 * neither number has changed for IDLE_TIMEOUT_MS.
 */
const waitUntilIdle = async (nats: NatsConnection, runners: readonly Runner[], expected: number): Promise<void> => {
  let progressAt = Date.now();
  for (let last = ''; Date.now() - progressAt < IDLE_TIMEOUT_MS; await sleep(250)) {
    const effectCount = runners.reduce((sum, { effects }) => sum + effects().length, 0);
    const unacknowledged = await unacknowledgedCount(nats, runners);
    if (effectCount >= expected && unacknowledged === 0) return;
    if (`${effectCount} ${unacknowledged}` !== last) progressAt = Date.now();
    last = `${effectCount} ${unacknowledged}`;
  }
};

/**
 * Reads what is new in the log, repeatedly, until it contains the acknowledgements of these deliveries, for at most
 * ACKNOWLEDGEMENT_TIMEOUT_MS. `read` is what was read before. @returns the number of deliveries that are acknowledged, and
 * the position of the last event as a consistency token
 */
const readAcknowledgements = async (log: Log, deliveries: readonly LoggedDelivery[], read: Awaited<ReturnType<typeof readLog>>) => {
  const acknowledged = new Set(read.acknowledged);
  let { end } = read;
  for (const isOver = deadline(ACKNOWLEDGEMENT_TIMEOUT_MS); ; await sleep(1_000)) {
    for await (const event of log.readAll({ from: end })) {
      end = event.position;
      for (const id of acknowledgedBy(event)) acknowledged.add(id);
    }
    const count = deliveries.filter(({ id }) => acknowledged.has(id)).length;
    if (count >= deliveries.length || isOver()) return { count, token: tokenOf(end) };
  }
};

/**
 * Waits until all work is done. Then reads the state of the log, the read model, the broker and the runners. Deliveries
 * of other integrations than `hooks` belong to earlier trials on the same platform, and are left out.
 */
export const readFinalState = async (
  platform: RunningPlatform,
  sent: readonly SentDelivery[],
  hooks: readonly Hook[],
  runners: readonly Runner[],
) => {
  const log = platform.openLog();
  const nats = await platform.connectNats();
  try {
    const openEvent = platform.eventOpener(log);
    const read = await readLog(log, openEvent);
    const hookIds = new Set(hooks.map(({ id }) => id));
    const { own = [], others = [] } = Object.groupBy(read.deliveries, ({ hookId }) => (hookIds.has(hookId) ? 'own' : 'others'));
    const otherIds = new Set(others.map(({ event_id }) => event_id));
    await waitUntilIdle(nats, runners, own.length);
    const { token, count } = await readAcknowledgements(log, own, read);
    const finalState: FinalState = {
      sent,
      log: own,
      rows: await rowsOf(platform, hooks, token),
      messages: (await readMessageIds(nats)).filter((id) => !otherIds.has(id)),
      effects: new Map(runners.map(({ agent, effects }) => [agent.id, effects()])),
      commandRuns: runners.flatMap(({ commandRuns }) => commandRuns()),
    };
    return { finalState, acknowledged: count };
  } finally {
    await nats.close();
    await log.close();
  }
};
