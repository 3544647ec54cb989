import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import type { Logger } from 'pino';
import { comparePositions, type Position, parseToken, type Recorded, tokenOf } from '../../domain/event.ts';
import { encodeCloudEvent, inboundSubject, MAX_INLINE_BYTES, runnerMessages } from '../../domain/runners/cloud-event.ts';
import type { Log } from '../eventstore/event-log.ts';
import { acknowledgedIdsSince } from '../nats/acknowledged-ids.ts';
import { chainedPublisher, type Outgoing, SequenceConflict } from '../nats/chained-publisher.ts';
import { ensureInbound, isWrongSequence, type LastMessage, MAX_AGE_MS, readTip, reasonOf, STREAM } from '../nats/jetstream.ts';

/** `relaying`: follows the log. `waiting`: something it needs is away, or another relay is ahead; it tries again. */
export type RelayStatus = {
  readonly state: 'starting' | 'relaying' | 'waiting' | 'closed';
  readonly position: string | null;
  readonly published: number;
  readonly waiting: number;
  readonly last_error: string | null;
};

export type Relay = { close: () => Promise<void>; status: () => RelayStatus };

export type RelayParts = { log: Log; nats: NatsConnection; logger: Logger; publicUrl: string };

const RETRY_MS = 250;
const MAX_RETRY_DELAY_MS = 5_000;
/** How often a quiet relay looks whether the stream is still the one it knows. */
const CHECK_MS = 5_000;
/** What a message bears besides its body. */
const HEAD_BYTES = 16_384;

const eventTypes = Object.keys(runnerMessages);

/** Base64 makes four bytes of three. */
const inlineLimit = (nats: NatsConnection): number =>
  Math.max(0, Math.min(MAX_INLINE_BYTES, Math.floor((((nats.info?.max_payload ?? 1_048_576) - HEAD_BYTES) * 3) / 4)));

const outgoing = (event: Recorded, publicUrl: string, limit: number): Outgoing => {
  const { type, message: messageOf } = runnerMessages[event.type]!;
  const message = messageOf(event, publicUrl);
  return {
    id: event.event_id,
    token: tokenOf(event.position),
    subject: inboundSubject(event.tenant, message.agent),
    delivery: message.delivery,
    payload: encodeCloudEvent(event, type, message, limit),
  };
};

/** The last event older than the stream keeps messages, found by reading back from the end; none: the log is younger than that. */
const startOfWindow = async (log: Log, signal: AbortSignal): Promise<Position | undefined> => {
  const oldest = new Date(Date.now() - MAX_AGE_MS).toISOString();
  for await (const event of log.readAll({ backwards: true })) {
    signal.throwIfAborted();
    if (event.at < oldest) return event.position;
  }
  return undefined;
};

/** @throws Error where the log ends before what the stream holds already: to follow it from there would pass over what it is going to take */
const heldBy = async (log: Log, position: Position): Promise<Position> => {
  for await (const last of log.readAll({ backwards: true, limit: 1 })) if (comparePositions(last.position, position) >= 0) return position;
  throw new Error(`the stream ${STREAM} on the broker holds messages of another log, or of a later state of this one: delete it`);
};

const resumeFrom = (log: Log, { token }: LastMessage, signal: AbortSignal): Promise<Position | undefined> => {
  const position = token === null ? null : parseToken(token);
  return position ? heldBy(log, position) : startOfWindow(log, signal);
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })));

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});

/**
 * Carries every delivering event of the log to the stream, once and in the log's order, however often it is stopped and however many
 * run at once. What it has carried stands in the stream's last message, so it keeps nothing of its own.
 */
export const startRelay = async ({ log, nats, logger, publicUrl }: RelayParts): Promise<Relay> => {
  const control = new AbortController();
  let state: RelayStatus['state'] = 'starting';
  let position: string | null = null;
  let published = 0;
  let waiting = () => 0;
  let lastError: string | null = null;
  let failures = 0;
  /** Why it waits stands in the process's log, since it last carried something. */
  let told = false;

  const sent = (batch: readonly Outgoing[]): void => {
    published += batch.length;
    position = batch.at(-1)!.token;
    failures = 0;
    told = false;
    lastError = null;
  };

  /** Rejects when the stream's end is no longer where this relay left it: emptied, made anew, or carried on by another. */
  const watch = async (box: ReturnType<typeof chainedPublisher>, signal: AbortSignal): Promise<never> => {
    for (;;) {
      await pause(CHECK_MS, signal);
      signal.throwIfAborted();
      if (box.waiting() > 0) continue;
      const { sequence } = await readTip(nats);
      if (box.waiting() === 0 && sequence !== box.chain().sequence) throw new SequenceConflict(`the stream ends at ${sequence} now`);
    }
  };

  /** From the stream's end on, until something breaks or the signal comes. */
  const publishUntilFailure = async (signal: AbortSignal): Promise<void> => {
    await ensureInbound(nats);
    const tip = await readTip(nats);
    const from = await resumeFrom(log, tip, signal);
    const done = await acknowledgedIdsSince(log, from, signal);
    position = tip.token ?? position;
    // The server forgets ids in time: the first message goes by the sequence alone, which was just read.
    const box = chainedPublisher(nats, { sequence: tip.sequence, messageId: null }, sent);
    waiting = box.waiting;
    const limit = inlineLimit(nats);
    const subscription = log.follow({
      from,
      filter: { eventTypes },
      event: (event) => {
        if (done.has(event.event_id)) return;
        let message: Outgoing;
        try {
          message = outgoing(event, publicUrl, limit);
        } catch (error) {
          return logger.error({ error: reasonOf(error), event: event.event_id }, 'an event cannot be made a message; it is left out');
        }
        return box.add(message);
      },
    });
    state = 'relaying';
    try {
      const broken = subscription.failure.then((error) => {
        if (error && !signal.aborted) throw error;
      });
      await Promise.race([box.failed, broken, watch(box, signal), aborted(signal)]);
    } finally {
      await subscription.stop();
      await box.idle();
      waiting = () => 0;
    }
  };

  const backOff = async (error: unknown): Promise<void> => {
    state = 'waiting';
    lastError = reasonOf(error);
    const overtaken = error instanceof SequenceConflict || isWrongSequence(error);
    logger[overtaken || told ? 'debug' : 'warn'](
      { error: lastError },
      overtaken ? 'the stream moved without this relay' : 'the relay waits',
    );
    told ||= !overtaken;
    await pause(Math.min(MAX_RETRY_DELAY_MS, RETRY_MS * 2 ** failures++) * (0.5 + Math.random()), control.signal);
  };

  const live = async (): Promise<void> => {
    while (!control.signal.aborted) {
      const round = new AbortController();
      const stop = () => round.abort();
      control.signal.addEventListener('abort', stop);
      try {
        await publishUntilFailure(round.signal);
      } catch (error) {
        if (!control.signal.aborted) await backOff(error);
      } finally {
        round.abort();
        control.signal.removeEventListener('abort', stop);
      }
    }
    state = 'closed';
  };

  const living = live();
  return {
    close: async () => {
      control.abort();
      await living;
    },
    status: () => ({ state, position, published, waiting: waiting(), last_error: lastError }),
  };
};
