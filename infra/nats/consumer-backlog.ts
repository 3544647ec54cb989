import type { ConsumerInfo, MsgRequest, NatsConnection } from 'nats';
import { manager, STREAM } from './jetstream.ts';

/** Described individually: those with the oldest unacknowledged messages. */
const MAX_CONSUMERS = 100;
const LOOKUPS_AT_ONCE = 20;

/** Messages to one agent. `oldestSeconds` is null if it cannot be determined. */
export type ConsumerBacklog = {
  readonly tenant: string;
  readonly agent: string;
  readonly unacknowledged: number;
  /** The number of unacknowledged messages that were sent to a runner more than once. */
  readonly redelivered: number;
  readonly oldestSeconds: number | null;
};

export type Backlog = {
  /** The number of agents whose runners have ever connected. */
  readonly consumers: number;
  readonly unacknowledged: number;
  readonly waitingRunners: number;
  /** The consumers with unacknowledged messages, at most 100 of them. */
  readonly behind: readonly ConsumerBacklog[];
};

const unacknowledgedOf = ({ num_pending, num_ack_pending }: ConsumerInfo): number => num_pending + num_ack_pending;

/** The age of the oldest unacknowledged message. Later ones may already be acknowledged. */
const oldestSecondsOf = async (nats: NatsConnection, { ack_floor, config }: ConsumerInfo): Promise<number | null> => {
  const { streams } = await manager(nats);
  const query = { seq: ack_floor.stream_seq + 1, next_by_subj: config.filter_subject! };
  // The server supports this query, but the client's TypeScript type does not contain it.
  const message = await streams.getMessage(STREAM, query as MsgRequest).catch(() => null);
  return message && Math.max(0, Date.now() - message.time.getTime()) / 1_000;
};

const backlogOf = async (nats: NatsConnection, info: ConsumerInfo): Promise<ConsumerBacklog> => {
  const [, tenant = '', agent = ''] = info.config.filter_subject!.split('.');
  const oldestSeconds = await oldestSecondsOf(nats, info);
  return { tenant, agent, unacknowledged: unacknowledgedOf(info), redelivered: info.num_redelivered, oldestSeconds };
};

/** @throws NatsError */
export const readBacklog = async (nats: NatsConnection): Promise<Backlog> => {
  const { consumers } = await manager(nats);
  const infos: ConsumerInfo[] = [];
  for await (const info of consumers.list(STREAM)) if (info.config.filter_subject) infos.push(info);
  const behind = infos.filter((info) => unacknowledgedOf(info) > 0).sort((a, b) => a.ack_floor.stream_seq - b.ack_floor.stream_seq);
  const described: ConsumerBacklog[] = [];
  for (let at = 0; at < Math.min(behind.length, MAX_CONSUMERS); at += LOOKUPS_AT_ONCE)
    described.push(
      ...(await Promise.all(behind.slice(at, Math.min(at + LOOKUPS_AT_ONCE, MAX_CONSUMERS)).map((info) => backlogOf(nats, info)))),
    );
  return {
    consumers: infos.length,
    unacknowledged: infos.reduce((sum, info) => sum + unacknowledgedOf(info), 0),
    waitingRunners: infos.reduce((sum, { num_waiting }) => sum + num_waiting, 0),
    behind: described,
  };
};
