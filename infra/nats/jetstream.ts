import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamManager,
  type NatsConnection,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamAPI,
  type StreamConfig,
  type StreamInfo,
} from 'nats';
import { Refusal } from '../../domain/refusal.ts';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import { ACK_WAIT_MS, consumerName, MAX_DELIVERY_ATTEMPTS, MAX_UNACKNOWLEDGED, STREAM } from '../../domain/runners/runner-credential.ts';
import { CONSUMER_NOT_FOUND, MESSAGE_NOT_FOUND, nullOnCode, STREAM_NOT_FOUND } from './jetstream-errors.ts';

export { STREAM };
export const SUBJECTS = 'agents.>';

const DAY_MS = 86_400_000;
/** The time for which the stream keeps messages, in milliseconds. The relay does not publish older events. */
export const MAX_MESSAGE_AGE_MS = 14 * DAY_MS;
/** The server drops a second message with the same id within this time. Not needed: the expected sequence number prevents duplicates. */
const DUPLICATE_WINDOW_MS = 120_000;
const CLUSTER_REPLICAS = 3;

export const manager = (nats: NatsConnection): Promise<JetStreamManager> => nats.jetstreamManager({ checkAPI: false });

const replicas = (nats: NatsConnection): number => ((nats.info as { cluster?: string } | undefined)?.cluster ? CLUSTER_REPLICAS : 1);

/** If another process creates the object at the same time, returns that. */
const findOrCreate = async <T>(find: () => Promise<T | null>, create: () => Promise<T>): Promise<T> =>
  (await find()) ??
  (await create().catch(async (error: unknown) => {
    const found = await find();
    if (found) return found;
    throw error;
  }));

/** Marks streams of Annals. Earlier versions put it into the stream's metadata, which servers before 2.10 do not store. */
const MARK = 'made by Annals';
const isOurs = ({ config: { description, metadata } }: StreamInfo): boolean => description === MARK || metadata?.['made-by'] === 'annals';

type NamedConfig = Partial<StreamConfig> & { name: string };

const isDifferent = ({ config: current }: StreamInfo, config: NamedConfig): boolean =>
  Object.entries(config).some(([name, value]) => JSON.stringify(current[name as keyof StreamConfig]) !== JSON.stringify(value));

/** Returns whether a stream was not created by Annals and has another configuration. */
const isForeign = (found: StreamInfo, config: NamedConfig): boolean => !isOurs(found) && isDifferent(found, config);

const foreignStream = (name: string): Refusal =>
  new Refusal('not_configured', `The stream ${name} on the broker was not created by Annals: give Annals a NATS account of its own`);

/**
 * Updates an existing stream to this configuration, but keeps its number of replicas.
 * @throws Refusal not_configured if Annals did not create it and it differs, because an update might delete its messages
 */
export const ensureStream = async (nats: NatsConnection, config: NamedConfig): Promise<StreamInfo> => {
  const { streams } = await manager(nats);
  const found = await findOrCreate(
    () => nullOnCode(streams.info(config.name), STREAM_NOT_FOUND),
    () => streams.add({ ...config, description: MARK, num_replicas: replicas(nats) }),
  );
  if (isForeign(found, config)) throw foreignStream(config.name);
  return isDifferent(found, config) ? streams.update(config.name, { ...found.config, ...config }) : found;
};

const MESSAGE_STREAM_CONFIG: NamedConfig = {
  name: STREAM,
  subjects: [SUBJECTS],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_age: nanos(MAX_MESSAGE_AGE_MS),
  duplicate_window: nanos(DUPLICATE_WINDOW_MS),
  allow_direct: true,
  // A runner could make the server send an answer to the subject of purge requests: it would remove the messages to all agents.
  deny_purge: true,
};

/**
 * Checks the stream that runners read.
 * @throws Refusal not_configured if Annals did not create it and it has another configuration
 */
export const assertStreamIsOurs = async (nats: NatsConnection): Promise<void> => {
  const { streams } = await manager(nats);
  const found = await nullOnCode(streams.info(STREAM), STREAM_NOT_FOUND);
  if (found && isForeign(found, MESSAGE_STREAM_CONFIG)) throw foreignStream(STREAM);
};

/** An early version of Annals, or another application with the same configuration, created them. */
export const unmarkedStreams = async (nats: NatsConnection): Promise<string[]> => {
  const { streams } = await manager(nats);
  const found = await Promise.all([STREAM, ADVISORY_STREAM].map((name) => nullOnCode(streams.info(name), STREAM_NOT_FOUND)));
  return found.filter((info) => info !== null && !isOurs(info)).map((info) => info!.config.name);
};

/**
 * The server writes an advisory there when a runner acknowledges, negatively acknowledges or terminates a message, or the maximum number of
 * deliveries is reached. Deleted after the outcome is in the log, or after MAX_MESSAGE_AGE_MS.
 */
export const ADVISORY_STREAM = `${STREAM}_NOTICES`;
const ADVISORY_SUBJECTS = [
  'METRIC.CONSUMER.ACK',
  'ADVISORY.CONSUMER.MSG_NAKED',
  'ADVISORY.CONSUMER.MAX_DELIVERIES',
  'ADVISORY.CONSUMER.MSG_TERMINATED',
].map((kind) => `$JS.EVENT.${kind}.${STREAM}.>`);

/** A subject of the advisory stream to which the server itself sends nothing. */
export const PROBE_SUBJECT = `$JS.EVENT.METRIC.CONSUMER.ACK.${STREAM}.probe`;

const ensureAdvisoryStream = (nats: NatsConnection): Promise<StreamInfo> =>
  ensureStream(nats, {
    name: ADVISORY_STREAM,
    subjects: ADVISORY_SUBJECTS,
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(MAX_MESSAGE_AGE_MS),
  });

/** A full stream rejects new messages. The advisory stream is created first, so that no acknowledgement is missed. */
export const ensureInbound = async (nats: NatsConnection): Promise<StreamInfo> => {
  await assertStreamIsOurs(nats);
  await ensureAdvisoryStream(nats);
  return ensureStream(nats, MESSAGE_STREAM_CONFIG);
};

/** `messageId` and `token`, the log position, are those of the last message, and null if the stream is empty. */
export type LastMessage = { readonly sequence: number; readonly messageId: string | null; readonly token: string | null };

/** The maximum number of messages at the end of the stream that are searched for a message of the relay. */
const MAX_FOREIGN_MESSAGES = 10_000;

/**
 * Of the messages up to this sequence number, finds the last one that the relay has published, and returns its log
 * position. The stream can contain other messages, which have no position: for example, a runner can make the server
 * send a status to the subject of an agent, which is then stored.
 */
const lastToken = async (streams: StreamAPI, sequence: number): Promise<string | null> => {
  for (let seq = sequence; seq > Math.max(0, sequence - MAX_FOREIGN_MESSAGES); seq--) {
    const found = await nullOnCode(streams.getMessage(STREAM, { seq }), MESSAGE_NOT_FOUND);
    const token = found?.header.get('Annals-Position');
    if (token || !found) return token || null;
  }
  return null;
};

/** If a message arrives between the two reads, the higher sequence number is returned. */
export const readTip = async (nats: NatsConnection): Promise<LastMessage> => {
  const { streams } = await manager(nats);
  const { state } = await streams.info(STREAM);
  const last = await nullOnCode(streams.getMessage(STREAM, { last_by_subj: SUBJECTS }), MESSAGE_NOT_FOUND);
  if (!last) return { sequence: state.last_seq, messageId: null, token: null };
  return {
    sequence: Math.max(state.last_seq, last.seq),
    messageId: last.header.get('Nats-Msg-Id') || null,
    token: last.header.get('Annals-Position') || (await lastToken(streams, last.seq - 1)),
  };
};

/** `ackWaitMs` is how long the server waits for the acknowledgement of an attempt, in milliseconds. */
export type ConsumerLimits = { ackWaitMs?: number; maxDeliveries?: number };

const redeliveryConfig = ({ ackWaitMs = ACK_WAIT_MS, maxDeliveries = MAX_DELIVERY_ATTEMPTS }: ConsumerLimits) =>
  ({ ack_wait: nanos(ackWaitMs), max_deliver: maxDeliveries, backoff: [] }) satisfies Partial<ConsumerConfig>;

const consumerConfig = (tenant: string, agent: string, limits: ConsumerLimits) =>
  ({
    ...redeliveryConfig(limits),
    durable_name: consumerName(agent),
    filter_subject: inboundSubject(tenant, agent),
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    max_ack_pending: MAX_UNACKNOWLEDGED,
    // With this setting, the server writes an advisory for every acknowledgement.
    sample_freq: '100%',
  }) satisfies Partial<ConsumerConfig>;

/**
 * Creates a durable consumer, or updates one of an earlier version with a delay for each attempt. A message without an answer is sent again
 * after `ack_wait`; with a negative acknowledgement, a runner chooses the delay.
 */
export const ensureConsumer = async (
  nats: NatsConnection,
  tenant: string,
  agent: string,
  limits: ConsumerLimits = {},
): Promise<ConsumerInfo> => {
  const { consumers } = await manager(nats);
  const found = await findOrCreate(
    () => nullOnCode(consumers.info(STREAM, consumerName(agent)), CONSUMER_NOT_FOUND),
    () => consumers.add(STREAM, consumerConfig(tenant, agent, limits)),
  );
  const isOld = (found.config.backoff ?? []).length > 0;
  return isOld ? consumers.update(STREAM, consumerName(agent), redeliveryConfig(limits)) : found;
};
