import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from 'nats';
import { Refusal } from '../../domain/refusal.ts';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import { ACK_WAIT_MS, consumerName, MAX_DELIVERY_ATTEMPTS, STREAM } from '../../domain/runners/runner-credential.ts';

export { STREAM };
export const SUBJECTS = 'agents.>';

const DAY_MS = 86_400_000;
/** How far back the stream holds messages; what is older is filled in by nobody. */
export const MAX_AGE_MS = 14 * DAY_MS;
/** No promise hangs on it: it only spares a round trip when a batch is sent twice. */
const DUPLICATE_WINDOW_MS = 120_000;
const CLUSTER_REPLICAS = 3;

const NO_STREAM = 10_059;
const NO_CONSUMER = 10_014;
const NO_MESSAGE = 10_037;
const WRONG_LAST_SEQUENCE = new Set([10_070, 10_071, 10_164]);

export const errorCode = (error: unknown): number => (error instanceof NatsError ? (error.api_error?.err_code ?? 0) : 0);
/** What the server said: of an answer without words of its own the client makes a bare number. */
export const errorReason = (error: unknown): string => {
  if (!(error instanceof NatsError)) return error instanceof Error ? error.message : String(error);
  return error.api_error?.description ?? (error.code === '503' ? 'JetStream does not answer' : error.message);
};
export const isWrongSequence = (error: unknown): boolean => WRONG_LAST_SEQUENCE.has(errorCode(error));
export const isMissingMessage = (error: unknown): boolean => errorCode(error) === NO_MESSAGE;

/** The server's answer; null where it says that the thing is not there. */
const orNull = async <T>(work: Promise<T>, ...absent: number[]): Promise<T | null> => {
  try {
    return await work;
  } catch (error) {
    if (absent.includes(errorCode(error))) return null;
    throw error;
  }
};

/** Makes what is not there. Another who makes the same thing at the same time is no error. */
const made = async <T>(find: () => Promise<T | null>, add: () => Promise<T>): Promise<T> =>
  (await find()) ??
  (await add().catch(async (error: unknown) => {
    const found = await find();
    if (found) return found;
    throw error;
  }));

export const manager = (nats: NatsConnection): Promise<JetStreamManager> => nats.jetstreamManager({ checkAPI: false });

const replicas = (nats: NatsConnection): number => ((nats.info as { cluster?: string } | undefined)?.cluster ? CLUSTER_REPLICAS : 1);

/** A stream that we made says so in its description, which servers before 2.10 keep too; ours of earlier days say it in their metadata. */
const MARK = 'made by Annals';
const isOurs = ({ config: { description, metadata } }: StreamInfo): boolean => description === MARK || metadata?.['made-by'] === 'annals';

type Wanted = Partial<StreamConfig> & { name: string };

const differs = ({ config: have }: StreamInfo, config: Wanted): boolean =>
  Object.entries(config).some(([name, value]) => JSON.stringify(have[name as keyof StreamConfig]) !== JSON.stringify(value));

/** As it is it would not serve us, and it was not us who made it. */
const isForeign = (found: StreamInfo, config: Wanted): boolean => !isOurs(found) && differs(found, config);

const foreign = (name: string): Refusal =>
  new Refusal('not_configured', `the stream ${name} on the broker is somebody else's: give Annals a NATS account of its own`);

/**
 * Makes a stream, or brings the one that we made to this configuration; its replicas stay as they were made.
 * @throws Refusal not_configured where somebody else's stream bears the name: to change it might cost its messages
 */
export const ensureStream = async (nats: NatsConnection, config: Wanted): Promise<StreamInfo> => {
  const { streams } = await manager(nats);
  const found = await made(
    () => orNull(streams.info(config.name), NO_STREAM),
    () => streams.add({ ...config, description: MARK, num_replicas: replicas(nats) }),
  );
  if (isForeign(found, config)) throw foreign(config.name);
  return differs(found, config) ? streams.update(config.name, { ...found.config, ...config }) : found;
};

const MESSAGES: Wanted = {
  name: STREAM,
  subjects: [SUBJECTS],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_age: nanos(MAX_AGE_MS),
  duplicate_window: nanos(DUPLICATE_WINDOW_MS),
  allow_direct: true,
};

/** @throws Refusal not_configured where the name of the runners' stream is taken by somebody else */
export const refuseForeign = async (nats: NatsConnection): Promise<void> => {
  const { streams } = await manager(nats);
  const found = await orNull(streams.info(STREAM), NO_STREAM);
  if (found && isForeign(found, MESSAGES)) throw foreign(STREAM);
};

/** What the server says about settled messages is kept here until the log has it. */
export const ADVISORY_STREAM = `${STREAM}_NOTICES`;
const NOTICE_SUBJECTS = ['METRIC.CONSUMER.ACK', 'ADVISORY.CONSUMER.MAX_DELIVERIES', 'ADVISORY.CONSUMER.MSG_TERMINATED'].map(
  (kind) => `$JS.EVENT.${kind}.${STREAM}.>`,
);

export const ensureNotices = (nats: NatsConnection): Promise<StreamInfo> =>
  ensureStream(nats, {
    name: ADVISORY_STREAM,
    subjects: NOTICE_SUBJECTS,
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(MAX_AGE_MS),
  });

/**
 * The stream that runners read: kept in files, refusing new messages rather than dropping old ones. The one that hears of
 * acknowledgements is made first, so that none goes unheard.
 */
export const ensureInbound = async (nats: NatsConnection): Promise<StreamInfo> => {
  await refuseForeign(nats);
  await ensureNotices(nats);
  return ensureStream(nats, MESSAGES);
};

/** The stream's end: its last sequence, and its last message where it holds one. */
export type LastMessage = { readonly sequence: number; readonly messageId: string | null; readonly token: string | null };

/** Reads the end from the stream's leader. The sequence is read first: a message that comes in between can only push the answer forward. */
export const readTip = async (nats: NatsConnection): Promise<LastMessage> => {
  const { streams } = await manager(nats);
  const { state } = await streams.info(STREAM);
  const last = await orNull(streams.getMessage(STREAM, { last_by_subj: SUBJECTS }), NO_MESSAGE);
  if (!last) return { sequence: state.last_seq, messageId: null, token: null };
  return {
    sequence: Math.max(state.last_seq, last.seq),
    messageId: last.header.get('Nats-Msg-Id') || null,
    token: last.header.get('Annals-Position') || null,
  };
};

export type ConsumerLimits = { ackWaitMs?: number; maxDeliveries?: number };

const consumerConfig = (
  tenant: string,
  agent: string,
  { ackWaitMs = ACK_WAIT_MS, maxDeliveries = MAX_DELIVERY_ATTEMPTS }: ConsumerLimits,
) =>
  ({
    durable_name: consumerName(agent),
    filter_subject: inboundSubject(tenant, agent),
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    max_deliver: maxDeliveries,
    max_ack_pending: 1_000,
    // Every acknowledgement is told to the reactor that takes it into the log.
    sample_freq: '100%',
  }) satisfies Partial<ConsumerConfig>;

/** Makes the agent's durable consumer where there is none yet; back-off lies in the delays that runners ask for. */
export const ensureConsumer = async (
  nats: NatsConnection,
  tenant: string,
  agent: string,
  limits: ConsumerLimits = {},
): Promise<ConsumerInfo> => {
  const { consumers } = await manager(nats);
  return made(
    () => orNull(consumers.info(STREAM, consumerName(agent)), NO_CONSUMER),
    () => consumers.add(STREAM, consumerConfig(tenant, agent, limits)),
  );
};
