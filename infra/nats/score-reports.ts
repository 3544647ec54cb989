import {
  AckPolicy,
  type Consumer,
  DeliverPolicy,
  DiscardPolicy,
  type JsMsg,
  type NatsConnection,
  nanos,
  RetentionPolicy,
  StorageType,
} from 'nats';
import { MAX_RUN_TASKS } from '../../domain/benchmarks/dataset.ts';
import { MAX_PUBLISHED_BYTES, SCORE_STREAM } from '../../domain/runners/score-report.ts';
import { ensureStream, MAX_MESSAGE_AGE_MS, manager } from './jetstream.ts';
import { CONSUMER_NOT_FOUND, nullOnCode } from './jetstream-errors.ts';

const CONSUMER = 'recorder';
/** A result that a process has read, but not settled for this time (in milliseconds), is sent to another process. */
const ACK_WAIT_MS = 30_000;
const MAX_BATCH = 100;
const FETCH_TIMEOUT_MS = 1_000;
/** When full, results are refused until some are recorded, and runners send them again. */
const MAX_STREAM_BYTES = 1_073_741_824;
/** The number of tasks that a run can have. Further results are refused, so that one agent does not keep out the results of others. */
export const MAX_AGENT_REPORTS = MAX_RUN_TASKS;

/** Acknowledged messages are removed. @throws Refusal not_configured if another application has created such a stream */
const ensureScoreStream = (nats: NatsConnection) =>
  ensureStream(nats, {
    name: SCORE_STREAM,
    subjects: ['scores.*.*'],
    storage: StorageType.File,
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    max_age: nanos(MAX_MESSAGE_AGE_MS),
    max_bytes: MAX_STREAM_BYTES,
    max_msgs_per_subject: MAX_AGENT_REPORTS,
    discard_new_per_subject: true,
    max_msg_size: MAX_PUBLISHED_BYTES,
  });

const ensureRecorder = async (nats: NatsConnection): Promise<Consumer> => {
  await ensureScoreStream(nats);
  const { consumers } = await manager(nats);
  if (!(await nullOnCode(consumers.info(SCORE_STREAM, CONSUMER), CONSUMER_NOT_FOUND)))
    await consumers.add(SCORE_STREAM, {
      durable_name: CONSUMER,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: nanos(ACK_WAIT_MS),
    });
  return nats.jetstream().consumers.get(SCORE_STREAM, CONSUMER);
};

/** Opens a reader of the results that runners have published. Each result is sent to only one of several readers. */
export const openScoreReports = async (nats: NatsConnection) => {
  const consumer = await ensureRecorder(nats);
  return {
    /** Does not wait for new messages; an empty list if there are none. @throws NatsError */
    next: async (): Promise<readonly JsMsg[]> => {
      const { num_pending } = await consumer.info(false);
      if (num_pending === 0) return [];
      // Request no more than exist: the request could end while the server sends a message, which would be lost.
      const request = { max_messages: Math.min(MAX_BATCH, num_pending), expires: FETCH_TIMEOUT_MS };
      return Array.fromAsync(await consumer.fetch(request));
    },
    /** Whether every message that was published before this call is acknowledged or dropped. @throws NatsError */
    isDrained: async (): Promise<boolean> => {
      const { num_pending, num_ack_pending } = await consumer.info(false);
      return num_pending === 0 && num_ack_pending === 0;
    },
  };
};
