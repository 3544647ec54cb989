import { headers, type NatsConnection } from 'nats';

/** A message on its way: `id` is the event's, `token` its place in the log. */
export type Outgoing = {
  readonly id: string;
  readonly token: string;
  readonly subject: string;
  readonly delivery: string;
  readonly payload: Uint8Array;
};

/** What the stream is known to end with. `messageId` is null where its last message is not known to the server’s memory of ids. */
export type ExpectedLastMessage = { sequence: number; messageId: string | null };

const BATCH_MESSAGES = 512;
const BATCH_BYTES = 2 * 1_048_576;
const BATCHES_IN_FLIGHT = 4;
/** Beyond so many messages that wait, the log is read no further. */
const HIGH_WATER = 1_024;
const HIGH_WATER_BYTES = 4 * 1_048_576;
const ACK_TIMEOUT_MS = 5_000;

/** Somebody else wrote to the stream, or a message before this one was not taken. */
export class SequenceConflict extends Error {}

const headersOf = ({ id, token, delivery }: Outgoing, { sequence, messageId }: ExpectedLastMessage) => {
  const head = headers();
  head.set('Nats-Msg-Id', id);
  head.set('Annals-Position', token);
  head.set('Annals-Delivery', delivery);
  head.set('Nats-Expected-Last-Sequence', String(sequence));
  // The sequence alone would let a message in behind a stranger's that took the place of the one before.
  if (messageId) head.set('Nats-Expected-Last-Msg-Id', messageId);
  return head;
};

/** Sends a batch in which each message names the one before; so one acknowledgement, the last, speaks for all. @throws Overtaken, NatsError */
const sendBatch = async (nats: NatsConnection, batch: readonly Outgoing[], chain: ExpectedLastMessage): Promise<void> => {
  let at = chain;
  const last = batch.length - 1;
  for (const message of batch.slice(0, last)) {
    nats.publish(message.subject, message.payload, { headers: headersOf(message, at) });
    at = { sequence: at.sequence + 1, messageId: message.id };
  }
  const end = batch[last]!;
  const ack = await nats.jetstream().publish(end.subject, end.payload, { headers: headersOf(end, at), timeout: ACK_TIMEOUT_MS });
  if (ack.seq !== at.sequence + 1) throw new SequenceConflict(`a message was stored as ${ack.seq}, not as ${at.sequence + 1}`);
};

/** The first goes alone: what keeps it out is said of it, while those behind it would only be said to miss it. */
const batchSize = (pending: readonly Outgoing[], { messageId }: ExpectedLastMessage): number => {
  if (messageId === null) return 1;
  let bytes = 0;
  const over = pending.findIndex(({ payload }) => {
    bytes += payload.length;
    return bytes > BATCH_BYTES;
  });
  return Math.min(BATCH_MESSAGES, over === -1 ? pending.length : Math.max(1, over));
};

const ahead = ({ sequence }: ExpectedLastMessage, batch: readonly Outgoing[]): ExpectedLastMessage => ({
  sequence: sequence + batch.length,
  messageId: batch.at(-1)!.id,
});

/**
 * Publishes what is added, in that order: a batch at once, further ones behind it while they are full. `failed` settles with the first
 * error, for good; what was in flight behind it names messages that are not there, so the server takes none of it.
 */
export const chainedPublisher = (nats: NatsConnection, tip: ExpectedLastMessage, sent: (batch: readonly Outgoing[]) => void) => {
  let chain = tip;
  let pending: Outgoing[] = [];
  let bytes = 0;
  let flying = 0;
  let flushing: Promise<void> | null = null;
  let room: PromiseWithResolvers<void> | null = null;
  let broken = false;
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});

  const launch = (): Promise<void> => {
    const batch = pending.slice(0, batchSize(pending, chain));
    const before = chain;
    chain = ahead(chain, batch);
    pending = pending.slice(batch.length);
    bytes -= batch.reduce((sum, { payload }) => sum + payload.length, 0);
    flying += batch.length;
    if (pending.length < BATCH_MESSAGES && bytes < BATCH_BYTES) {
      room?.resolve();
      room = null;
    }
    const landing = sendBatch(nats, batch, before).then(() => {
      flying -= batch.length;
      sent(batch);
    });
    landing.catch(() => {});
    return landing;
  };

  const full = (): boolean => pending.length >= BATCH_MESSAGES || bytes >= BATCH_BYTES;

  const flush = async (): Promise<void> => {
    // What arrives in the same turn goes in one batch.
    await new Promise((resolve) => setImmediate(resolve));
    const landings: Promise<void>[] = [];
    for (;;) {
      while (pending.length > 0 && (landings.length === 0 || (landings.length < BATCHES_IN_FLIGHT && full()))) landings.push(launch());
      if (landings.length === 0) return;
      await landings.shift();
    }
  };

  const start = (): Promise<void> => {
    const run = flush().finally(() => {
      flushing = null;
    });
    run.catch((error: unknown) => {
      broken = true;
      failure.reject(error);
      room?.reject(error);
    });
    return run;
  };

  return {
    failed: failure.promise,
    chain: (): ExpectedLastMessage => chain,
    /** Messages that wait or are in flight. */
    waiting: (): number => pending.length + flying,
    /** A promise where the caller should wait until there is room again. */
    add: (message: Outgoing): void | Promise<void> => {
      if (broken) return failure.promise;
      pending.push(message);
      bytes += message.payload.length;
      flushing ??= start();
      if (pending.length < HIGH_WATER && bytes < HIGH_WATER_BYTES) return;
      room ??= Promise.withResolvers();
      return room.promise;
    },
    idle: async (): Promise<void> => void (await flushing?.catch(() => {})),
  };
};
