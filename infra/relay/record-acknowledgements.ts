import { randomUUID } from 'node:crypto';
import type { NatsConnection } from 'nats';
import type { Logger } from 'pino';
import {
  type AcknowledgementLog,
  type AcknowledgementStream,
  recordAcknowledgements,
  recordLostSettlement,
} from '../../commands/runners/record-acknowledgements.reactor.ts';
import { type Metadata, type Recorded, streamName } from '../../domain/event.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import { derivedId } from '../aggregates/transact.ts';
import { type Backoff, createBackoff } from '../backoff.ts';
import { isConflict, type Log } from '../eventstore/event-log.ts';
import { openAdvisories, type ReceivedAdvisory } from '../nats/advisories.ts';
import { ensureInbound } from '../nats/jetstream.ts';
import { errorReason, mayBeStoppedStream } from '../nats/jetstream-errors.ts';

/** `seconds` is the time from the receipt of the delivery to the acknowledgement or giving up; null if not known. */
export type SettledMessage = Pick<Acknowledgement.Advisory, 'outcome' | 'attempts'> & { readonly seconds: number | null };

export type RecorderParts = {
  log: Log;
  nats: NatsConnection;
  logger: Logger;
  intervalMs?: number;
  /** Called after this process has recorded the outcome in the log. */
  onSettled?: (settled: SettledMessage) => void;
};

const INTERVAL_MS = 2_000;
const RETRY = { minMs: 500, maxMs: 5_000 };
/** After this many milliseconds without an advisory, the recorder checks that the server can store advisories. */
const PROBE_INTERVAL_MS = 5_000;

const streamOf = (tenant: string, agent: string): string => streamName(Acknowledgement.category, tenant, agent);

/** Reads only the last event, which contains everything that later decisions need. */
const loadStream = async (log: Log, stream: string): Promise<AcknowledgementStream> => {
  const last = (await log.last(stream)) as Recorded<Acknowledgement.AcknowledgementEvent> | null;
  if (!last) return { state: Acknowledgement.initial, revision: -1 };
  return { state: Acknowledgement.evolve(Acknowledgement.initial, last), revision: last.revision };
};

type Events = readonly Acknowledgement.AcknowledgementEvent[];

/**
 * Creates the access to the acknowledgement streams in the log. `onAppended` is called for events that this process has
 * appended. The ids of events contain `writer`, which is different for writers that append at the same time. If two used the
 * same ids, the log would tell both that they have appended their events, although it has only those of one.
 */
export const acknowledgementLog = (log: Log, writer: string, onAppended: (events: Events) => void = () => {}): AcknowledgementLog => ({
  load: (tenant, agent) => loadStream(log, streamOf(tenant, agent)),
  append: async (tenant, agent, revision, events) => {
    const stream = streamOf(tenant, agent);
    const meta: Metadata = { tenant, actor: { kind: 'system', id: 'acknowledgements' }, at: new Date().toISOString(), v: 1 };
    const newEvents = events.map(({ type, data }, index) => ({
      id: derivedId(stream, writer, data.capture.epoch, data.capture.sequence, revision + 1 + index),
      type,
      data,
      meta,
    }));
    try {
      await log.append(stream, revision < 0 ? 'none' : revision, newEvents);
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
    onAppended(events);
    return true;
  },
});

/** Records a message of a session as settled whose acknowledgement was lost. Several calls for one agent may run at the same time. */
export const recordSettlement = (
  log: Log,
  recipient: { readonly tenant: string; readonly agent: string },
  message: Acknowledgement.SettledSessionMessage,
): Promise<void> => recordLostSettlement(acknowledgementLog(log, randomUUID()), recipient, message);

/** Returns the ids of the messages that are acknowledged or given up according to an event. */
const settledIdsOf = ({ type, data }: Acknowledgement.AcknowledgementEvent): string[] => {
  if (type === 'DeliveryAttemptFailed') return [];
  if (type === 'SessionMessagesSettled') return data.messages.map(({ event_id }) => event_id);
  return type === 'DeliveriesAcknowledged' ? data.deliveries.map(({ event_id }) => event_id) : [data.event_id];
};

const settledMessage = ({ advisory: { outcome, attempts, at }, receivedAt }: ReceivedAdvisory): SettledMessage => ({
  outcome,
  attempts,
  seconds: receivedAt === null ? null : Math.max(0, Date.parse(at) - Date.parse(receivedAt)) / 1_000,
});

/** `reason` is null if the recorder works. `isStreamStopped`: JetStream refuses to store advisories, for example after a write error. */
export type RecorderStatus = { readonly reason: string | null; readonly isStreamStopped: boolean };

type Recorder = Required<RecorderParts> & { readonly writer: string; readonly retry: Backoff; status: RecorderStatus };

const WORKING: RecorderStatus = { reason: null, isStreamStopped: false };

const streamsFor = ({ log, writer, onSettled }: Recorder, advisories: readonly ReceivedAdvisory[]): AcknowledgementLog => {
  const settled = advisories.filter(({ advisory }) => advisory.outcome !== 'failed');
  const byId = new Map(settled.map((received) => [received.advisory.event_id, received]));
  return acknowledgementLog(log, writer, (events) => {
    for (const id of events.flatMap(settledIdsOf)) onSettled(settledMessage(byId.get(id)!));
  });
};

/**
 * Reads and records advisories until the signal is aborted. If none arrives for some time, checks that the server can
 * store them: the stream of advisories may be missing or stopped although the stream of messages works.
 * @throws the first failure of a service
 */
const recordUntilFailure = async (recorder: Recorder, signal: AbortSignal): Promise<void> => {
  const { nats, intervalMs, retry } = recorder;
  await ensureInbound(nats);
  const reader = await openAdvisories(nats);
  try {
    if (recorder.status.reason !== null) await reader.probe();
    let provenAt = Date.now();
    while (!signal.aborted) {
      const batch = await reader.next(intervalMs);
      if (!batch && Date.now() - provenAt >= PROBE_INTERVAL_MS) await reader.probe();
      if (batch || Date.now() - provenAt >= PROBE_INTERVAL_MS) provenAt = Date.now();
      retry.reset();
      recorder.status = WORKING;
      if (!batch) continue;
      await recordAcknowledgements(streamsFor(recorder, batch.advisories), reader.epoch, batch.advisories);
      await reader.purge(batch.lastSequence);
    }
  } finally {
    await reader.close();
  }
};

/** Logs a warning only if the recorder worked before. */
const backOff = async (recorder: Recorder, error: unknown, signal: AbortSignal): Promise<void> => {
  const isFirst = recorder.status.reason === null;
  recorder.status = { reason: errorReason(error), isStreamStopped: mayBeStoppedStream(error) };
  recorder.logger[isFirst ? 'warn' : 'debug']({ error: errorReason(error) }, 'acknowledgements cannot be recorded now; trying again');
  await recorder.retry.wait(signal);
};

const run = async (recorder: Recorder, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    try {
      await recordUntilFailure(recorder, signal);
    } catch (error) {
      if (!signal.aborted) await backOff(recorder, error, signal);
    }
  }
};

/**
 * Starts the recorder, which records in the log which messages runners have acknowledged and which ones the broker has
 * given up. Every few seconds, it appends one event for each agent, with the outcomes of many messages. Any number of
 * processes can run this recorder.
 */
export const startAcknowledgementRecorder = (parts: RecorderParts) => {
  const closing = new AbortController();
  const defaults = { intervalMs: INTERVAL_MS, onSettled: () => {} };
  const recorder: Recorder = { ...defaults, ...parts, writer: randomUUID(), retry: createBackoff(RETRY), status: WORKING };
  const running = run(recorder, closing.signal);
  return {
    status: (): RecorderStatus => recorder.status,
    close: async (): Promise<void> => {
      closing.abort();
      await running;
    },
  };
};

export type AcknowledgementRecorder = ReturnType<typeof startAcknowledgementRecorder>;
