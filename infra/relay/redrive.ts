import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import type { Logger } from 'pino';
import type { ReactorCtx } from '../../commands/context.ts';
import { type Position, positionOfSortKey, sortKey } from '../../domain/event.ts';
import { publishedThroughAt, type UnsettledRange } from '../../projections/deliveries/unsettled.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { Log } from '../eventstore/event-log.ts';
import { ADVISORY_STREAM, MAX_MESSAGE_AGE_MS, manager, readTip } from '../nats/jetstream.ts';
import { errorReason } from '../nats/jetstream-errors.ts';
import { resumePosition } from '../reactors/resume-position.ts';
import { acknowledgedIdsSince } from './acknowledged-ids.ts';
import { findMissing, type LostMessage, settleOrSend } from './lost-messages.ts';

const INTERVAL_MS = 60_000;
/** The time in milliseconds after its publication from which a message is searched for. */
const OVERDUE_MS = 60_000;
/** In milliseconds. If an acknowledgement waits longer to be recorded, any message may have been acknowledged, so none is sent again. */
const MAX_UNRECORDED_MS = 30_000;
const CONCURRENCY = 8;
const ACTOR = { kind: 'system', id: 'redrive' } as const;

export type RedriveParts = {
  readonly log: Log;
  readonly nats: NatsConnection;
  readonly reads: Pick<Reads, 'rows'>;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'debug'>;
  /** Several processes could search safely, because no message is sent again twice, but this would cost more. */
  readonly isResponsible: () => boolean;
  /** Whether acknowledgements are being recorded. If not, no message is sent again. */
  readonly isRecording: () => boolean;
  /** Returns the position up to which the relay of this process has published; null if that is unknown. */
  readonly publishedThrough: () => Promise<Position | null>;
  readonly intervalMs?: number;
  readonly overdueMs?: number;
};

type Redrive = Required<RedriveParts> & {
  readonly ctx: ReactorCtx;
  /** The ids of the messages that were missing in the previous search. */
  suspects: ReadonlySet<string>;
};

/** Returns whether all acknowledgements are recorded that reached the broker more than MAX_UNRECORDED_MS ago. */
const isRecordingCurrent = async ({ nats, isRecording }: Redrive): Promise<boolean> => {
  if (!isRecording()) return false;
  const { streams } = await manager(nats);
  const { state } = await streams.info(ADVISORY_STREAM);
  return state.messages === 0 || Date.now() - Date.parse(state.first_ts) < MAX_UNRECORDED_MS;
};

/** Null if there is nothing to check. Messages that the relay has not published yet are not lost. */
const rangeOf = async ({ log, nats, reads, overdueMs, publishedThrough }: Redrive, signal: AbortSignal): Promise<UnsettledRange | null> => {
  const now = Date.now();
  const overdue = await publishedThroughAt(reads, new Date(now - overdueMs).toISOString());
  const relayed = (await publishedThrough()) ?? (await resumePosition(log, await readTip(nats), signal));
  if (overdue === null || !relayed) return null;
  const through = sortKey(relayed) < overdue ? sortKey(relayed) : overdue;
  return { through, since: new Date(now - MAX_MESSAGE_AGE_MS).toISOString() };
};

/** Asks the log, because the read model may lag behind it. */
const unsettledIn = async (log: Log, lost: readonly LostMessage[], signal: AbortSignal): Promise<readonly LostMessage[]> => {
  const first = lost.map(({ place }) => place).reduce((a, b) => (a < b ? a : b));
  const settled = await acknowledgedIdsSince(log, positionOfSortKey(first), signal);
  return lost.filter(({ settled_id }) => !settled.has(settled_id));
};

const sendAgain = async ({ ctx, log, reads, logger }: Redrive, lost: readonly LostMessage[], signal: AbortSignal): Promise<void> => {
  const waiting = [...lost];
  const counts = { sent: 0, settled: 0, skipped: 0 };
  const work = async (): Promise<void> => {
    for (let message = waiting.shift(); message && !signal.aborted; message = waiting.shift())
      counts[await settleOrSend({ ctx, log, reads }, message)]++;
  };
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  } finally {
    logger.warn(counts, 'the message broker had lost messages to runners; they are sent again');
  }
};

/**
 * Searches once for lost messages. Sends only those again that were also missing in the previous search. A message
 * whose acknowledgement is just being recorded also seems to be lost, but only in one search.
 * @throws the failure of a service
 */
const runOnce = async (redrive: Redrive, signal: AbortSignal): Promise<void> => {
  const range = (await isRecordingCurrent(redrive)) ? await rangeOf(redrive, signal) : null;
  const missing = range ? await findMissing(redrive, range, signal) : [];
  const confirmed = missing.filter(({ message_id }) => redrive.suspects.has(message_id));
  redrive.suspects = new Set(missing.map(({ message_id }) => message_id));
  if (confirmed.length === 0) return;
  const lost = await unsettledIn(redrive.log, confirmed, signal);
  if (lost.length > 0) await sendAgain(redrive, lost, signal);
};

/**
 * Every minute, finds messages that the broker lost before they were acknowledged, for example by a damaged file, and sends them again.
 * Messages that wait for a runner are not affected. `annals redrive` finds those older than the broker's retention time.
 */
export const startRedrive = (parts: RedriveParts): { close: () => Promise<void> } => {
  const defaults = { intervalMs: INTERVAL_MS, overdueMs: OVERDUE_MS };
  const { intervalMs, logger, log, isResponsible } = { ...defaults, ...parts };
  const redrive: Redrive = {
    ...defaults,
    ...parts,
    ctx: reactorContext(log, { actor: ACTOR }),
    suspects: new Set(),
  };
  const closing = new AbortController();
  const { signal } = closing;

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(intervalMs, undefined, { signal }).catch(() => {});
      if (signal.aborted || !isResponsible()) continue;
      await runOnce(redrive, signal).catch((error: unknown) =>
        logger.debug({ error: errorReason(error) }, 'lost messages cannot be looked for now; trying again'),
      );
    }
  };

  const running = run();
  return {
    close: async (): Promise<void> => {
      closing.abort();
      await running;
    },
  };
};
