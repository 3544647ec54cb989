import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import { relayedEventTypes } from '../../commands/runners/relay.reactor.ts';
import { comparePositions, type Position } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import { readTip } from '../nats/jetstream.ts';
import { resumePosition } from '../reactors/resume-position.ts';

/** `events` must still be published to runners; the oldest is `seconds` old. */
export type RelayLag = { readonly events: number; readonly seconds: number };

export type RelayLagParts = {
  readonly log: Log;
  /** Undefined if there is none. */
  readonly nats: () => NatsConnection | undefined;
  /** Undefined if this process has none. */
  readonly relay: () => { readonly publishedThrough: () => Position | null | Promise<Position | null> } | undefined;
};

/** The maximum number of events that are counted, to limit the memory. */
const MAX_COUNTED = 100_000;
const BROKER_TIMEOUT_MS = 500;
const SCAN_TIMEOUT_MS = 1_000;

type Waiting = { readonly position: Position; readonly at: string };

type State = {
  /** The position up to which every event is published, as far as this process knows. */
  published: Position | null;
  /** The position up to which the log has been searched for events to publish. */
  scanned: Position | null;
  waiting: Waiting[];
};

const later = (a: Position | null, b: Position | null | undefined): Position | null => {
  if (!a || !b) return a ?? b ?? null;
  return comparePositions(a, b) > 0 ? a : b;
};

/** The position from which a relay would continue now; null if the broker does not answer. */
const positionAtBroker = async ({ log, nats }: RelayLagParts): Promise<Position | null> => {
  const connection = nats();
  if (!connection) return null;
  const aborter = new AbortController();
  const asking = readTip(connection).then((tip) => resumePosition(log, tip, aborter.signal));
  const found = await Promise.race([asking.catch(() => null), sleep(BROKER_TIMEOUT_MS, null, { ref: false })]);
  aborter.abort(new Error('the broker took too long'));
  return found ?? null;
};

/** Stops after a second; the next scan reads the rest. */
const scan = async (log: Log, state: State): Promise<void> => {
  const end = Promise.withResolvers<void>();
  const timer = setTimeout(end.resolve, SCAN_TIMEOUT_MS);
  const subscription = log.follow({
    from: state.scanned ?? undefined,
    filter: { eventTypes: relayedEventTypes },
    event: ({ position, at }) => {
      if (state.waiting.length >= MAX_COUNTED) return end.resolve();
      state.scanned = position;
      state.waiting.push({ position, at });
    },
    checkpoint: (position) => {
      if (state.waiting.length < MAX_COUNTED) state.scanned = later(state.scanned, position);
    },
    caughtUp: end.resolve,
  });
  void subscription.failure.then(() => end.resolve());
  await end.promise;
  clearTimeout(timer);
  await subscription.stop();
};

const measure = async (parts: RelayLagParts, state: State): Promise<RelayLag | null> => {
  const own = await parts.relay()?.publishedThrough();
  state.published = later(state.published, own ?? (await positionAtBroker(parts)));
  const { published } = state;
  if (!published) return null;
  state.scanned = later(state.scanned, published);
  await scan(parts.log, state);
  state.waiting = state.waiting.filter(({ position }) => comparePositions(position, published) > 0);
  const oldest = state.waiting[0];
  return { events: state.waiting.length, seconds: oldest ? Math.max(0, Date.now() - Date.parse(oldest.at)) / 1_000 : 0 };
};

/**
 * Creates the function that measures how far the broker is behind the log, even while the broker is down. It works in
 * every process, no matter which process publishes. It returns null if the broker has not answered since this process
 * started.
 */
export const createRelayLag = (parts: RelayLagParts): (() => Promise<RelayLag | null>) => {
  const state: State = { published: null, scanned: null, waiting: [] };
  let running: Promise<RelayLag | null> | null = null;
  return () => {
    running ??= measure(parts, state).finally(() => {
      running = null;
    });
    return running;
  };
};
