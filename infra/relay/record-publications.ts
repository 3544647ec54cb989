import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { comparePositions, PLATFORM, type Position, parseToken, type Recorded, streamName } from '../../domain/event.ts';
import * as Publication from '../../domain/runners/publication.ts';
import { isConflict, type Log } from '../eventstore/event-log.ts';
import { errorReason } from '../nats/jetstream-errors.ts';
import type { RelayStatus } from './relay.ts';

export type PublicationRecorderParts = {
  readonly log: Log;
  readonly relay: { readonly status: () => RelayStatus };
  readonly logger: Pick<Logger, 'debug'>;
  readonly intervalMs?: number;
};

const INTERVAL_MS = 2_000;
const STREAM = streamName(Publication.category, PLATFORM, Publication.STREAM_ID);

/** Appends nothing if the log already contains the event. Returns the position up to which publications are then recorded. */
const record = async (log: Log, published: Position): Promise<Position> => {
  const last = (await log.last(STREAM)) as Recorded<Publication.PublicationEvent> | null;
  const state = last ? Publication.evolve(Publication.initial, last) : Publication.initial;
  const [event] = Publication.recordPublished(published)(state);
  if (!event) return state.through!;
  const actor = { kind: 'system', id: 'relay' } as const;
  const meta = { tenant: PLATFORM, actor, at: new Date().toISOString(), v: 1 };
  await log.append(STREAM, last?.revision ?? 'none', [{ id: randomUUID(), ...event, meta }]);
  return published;
};

/**
 * Every few seconds, records the position up to which messages are published: one event for all deliveries since the last, so that read
 * models know which are published without a write for each. With several processes, only the first one appends the event.
 */
export const startPublicationRecorder = ({ log, relay, logger, intervalMs = INTERVAL_MS }: PublicationRecorderParts) => {
  const closing = new AbortController();
  const { signal } = closing;
  let recorded: Position | null = null;

  const recordLatest = async (): Promise<void> => {
    const { state, position } = relay.status();
    const published = state === 'relaying' && position !== null ? parseToken(position) : null;
    if (!published || (recorded && comparePositions(published, recorded) <= 0)) return;
    recorded = await record(log, published);
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await recordLatest().catch((error: unknown) => {
        if (!isConflict(error)) logger.debug({ error: errorReason(error) }, 'publications cannot be recorded now; trying again');
      });
      await sleep(intervalMs, undefined, { signal }).catch(() => {});
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
