import type { NatsConnection } from 'nats';
import type { Logger } from 'pino';
import {
  type AcknowledgementLog,
  type AcknowledgementStream,
  recordAcknowledgements,
} from '../../commands/runners/record-acknowledgements.reactor.ts';
import { type Metadata, type Recorded, streamName } from '../../domain/event.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import { derivedId } from '../aggregates/transact.ts';
import { createBackoff } from '../backoff.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { openAdvisories } from '../nats/advisories.ts';
import { ensureInbound } from '../nats/jetstream.ts';
import { errorReason } from '../nats/jetstream-errors.ts';

export type RecorderParts = { log: Log; nats: NatsConnection; logger: Logger; intervalMs?: number };

const INTERVAL_MS = 2_000;
const RETRY = { minMs: 500, maxMs: 10_000 };

const streamOf = (tenant: string, agent: string): string => streamName(Acknowledgement.category, tenant, agent);

/**
 * Loads the state of an acknowledgement stream from its last event, which contains everything that later decisions
 * need.
 */
const loadStream = async (log: Log, stream: string): Promise<AcknowledgementStream> => {
  const last = (await log.last(stream)) as Recorded<Acknowledgement.AcknowledgementEvent> | null;
  if (!last) return { state: Acknowledgement.initial, revision: -1 };
  return { state: Acknowledgement.evolve(Acknowledgement.initial, last), revision: last.revision };
};

const ignoreConflict = (error: unknown): void => {
  if (!(error instanceof LogError && error.kind === 'conflict')) throw error;
};

const acknowledgementLog = (log: Log): AcknowledgementLog => ({
  load: (tenant, agent) => loadStream(log, streamOf(tenant, agent)),
  append: async (tenant, agent, revision, events) => {
    const stream = streamOf(tenant, agent);
    const meta: Metadata = { tenant, actor: { kind: 'system', id: 'acknowledgements' }, at: new Date().toISOString(), v: 1 };
    const newEvents = events.map(({ type, data }, index) => ({
      id: derivedId(stream, data.capture.epoch, data.capture.sequence, revision + 1 + index),
      type,
      data,
      meta,
    }));
    await log.append(stream, revision < 0 ? 'none' : revision, newEvents).catch(ignoreConflict);
  },
});

/**
 * Records in the log which messages runners have acknowledged and which the broker has given up. The results of many
 * messages are combined: every few seconds, it appends one event per agent. Any number of processes can run this
 * recorder.
 */
export const startAcknowledgementRecorder = ({ log, nats, logger, intervalMs = INTERVAL_MS }: RecorderParts) => {
  const closing = new AbortController();
  const { signal } = closing;
  const streams = acknowledgementLog(log);
  const retry = createBackoff(RETRY);
  /** Whether the current failure has already been logged as a warning. */
  let hasWarned = false;

  const recordUntilFailure = async (): Promise<void> => {
    await ensureInbound(nats);
    const reader = await openAdvisories(nats);
    try {
      while (!signal.aborted) {
        const batch = await reader.next(intervalMs);
        retry.reset();
        hasWarned = false;
        if (!batch) continue;
        await recordAcknowledgements(streams, reader.epoch, batch.advisories);
        await reader.purge(batch.lastSequence);
      }
    } finally {
      await reader.close();
    }
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await recordUntilFailure();
      } catch (error) {
        if (signal.aborted) return;
        logger[hasWarned ? 'debug' : 'warn']({ error: errorReason(error) }, 'acknowledgements cannot be recorded now; trying again');
        hasWarned = true;
        await retry.wait(signal);
      }
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
