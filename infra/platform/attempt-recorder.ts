import { hash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NewReport, RecordAttempt } from '../../commands/runners/report-attempt.ts';
import { type Metadata, type Position, type Recorded, streamName } from '../../domain/event.ts';
import { type AttemptReport, type AttemptReportEvent, attemptKey, category } from '../../domain/runners/attempt-report.ts';
import { failureKey } from '../../domain/runners/report-texts.ts';
import { throwAsRefusal } from '../aggregates/transact.ts';
import { isConflict, type Log } from '../eventstore/event-log.ts';
import { createLruMap, type LruMap } from '../lru-map.ts';

/** Reports that arrive within this many milliseconds are recorded together. */
const BATCH_DELAY_MS = 100;
/** The maximum number of reports in one event. It keeps the append below the size limit of the log. */
const MAX_PER_EVENT = 100;
const MAX_APPENDS = 5;
/** The number of events of an agent that are read to find out which attempts were recorded by another process. */
const MAX_READ_EVENTS = 200;
const MAX_KNOWN = 10_000;
const MAX_AGENTS = 1_000;

/** `text` identifies the texts of the report within the log. */
type Pending = NewReport & { readonly text: string } & PromiseWithResolvers<Position | null>;

/** `revision` is that of the last event that this process knows; -1 if none. */
type AgentStream = {
  readonly tenant: string;
  readonly agent_id: string;
  revision: number;
  pending: Pending[];
  writing: Promise<void> | null;
};

type WithTexts = { readonly attempt: number; readonly problem: string };

/** `texts` has, for each text of a message, the attempt with which it was recorded. */
type Recorder = {
  readonly log: Log;
  readonly now: () => number;
  readonly agents: LruMap<string, AgentStream>;
  readonly attempts: LruMap<string, true>;
  readonly texts: LruMap<string, WithTexts>;
};

const keyOf = (tenant: string, report: AttemptReport): string => `${tenant}/${attemptKey(report)}`;

const textKey = (tenant: string, { report: { delivery_id, message_id = '' }, texts }: NewReport): string =>
  hash('sha256', `${tenant}/${delivery_id}/${message_id}/${failureKey(texts)}`, 'base64');

/** Marks the attempts that other processes have recorded since this process last read the stream. */
const readOthers = async ({ log, attempts }: Recorder, stream: AgentStream): Promise<void> => {
  const { tenant, agent_id, revision } = stream;
  for await (const event of log.read(streamName(category, tenant, agent_id), { backwards: true, limit: MAX_READ_EVENTS })) {
    if (event.revision <= revision) break;
    stream.revision = Math.max(stream.revision, event.revision);
    for (const report of (event as Recorded<AttemptReportEvent>).data.reports) attempts.set(keyOf(tenant, report), true);
  }
};

/** Each report gets its encrypted texts, or refers to an earlier attempt with the same texts. */
const unrecorded = async ({ attempts, texts }: Recorder, tenant: string, batch: readonly Pending[]): Promise<AttemptReport[]> => {
  const found = new Map<string, AttemptReport>();
  const known = new Map<string, WithTexts>();
  for (const pending of batch) {
    const { report, text, problem } = pending;
    const key = keyOf(tenant, report);
    if (attempts.peek(key) || found.has(key)) continue;
    const earlier = known.get(text) ?? texts.peek(text);
    // The state forgets old attempts, but the texts of this one may still be stored.
    const same = earlier?.attempt === report.attempt ? undefined : earlier;
    // The codes of attempts with the same texts can differ, and so can their problems.
    const ofOther = same && { same_as: same.attempt, ...(same.problem !== problem && { problem }) };
    found.set(key, { ...report, ...(ofOther ?? { sealed: await pending.seal(), problem }) });
    if (!same) known.set(text, { attempt: report.attempt, problem });
  }
  return [...found.values()];
};

const append = async (recorder: Recorder, stream: AgentStream, batch: readonly Pending[]): Promise<Position | null> => {
  const { log, now, attempts, texts } = recorder;
  const { tenant, agent_id } = stream;
  const reports = await unrecorded(recorder, tenant, batch);
  if (reports.length === 0) return null;
  const meta: Metadata = { tenant, actor: { kind: 'agent', id: agent_id }, at: new Date(now()).toISOString(), v: 1 };
  const event = { id: randomUUID(), type: 'DeliveryAttemptsReported', data: { reports }, meta };
  const expected = stream.revision < 0 ? 'none' : stream.revision;
  const { revision, position } = await log.append(streamName(category, tenant, agent_id), expected, [event]);
  stream.revision = revision;
  for (const report of reports) attempts.set(keyOf(tenant, report), true);
  const withTexts = new Set(reports.filter(({ sealed }) => sealed !== undefined).map(attemptKey));
  for (const { report, text, problem } of batch)
    if (withTexts.has(attemptKey(report))) texts.set(text, { attempt: report.attempt, problem });
  return position;
};

/** Retries after a conflict, because other processes also write to the stream. */
const recordBatch = async (recorder: Recorder, stream: AgentStream, batch: readonly Pending[]): Promise<Position | null> => {
  for (let left = MAX_APPENDS; ; left--) {
    try {
      if (stream.revision < 0) await readOthers(recorder, stream);
      return await append(recorder, stream, batch);
    } catch (error) {
      if (!isConflict(error) || left === 1) throw error;
      await readOthers(recorder, stream);
    }
  }
};

const write = async (recorder: Recorder, stream: AgentStream): Promise<void> => {
  await sleep(BATCH_DELAY_MS);
  while (stream.pending.length > 0) {
    const batch = stream.pending.splice(0, MAX_PER_EVENT);
    try {
      const position = await recordBatch(recorder, stream, batch);
      for (const { resolve } of batch) resolve(position);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
  stream.writing = null;
};

/**
 * Reports on the deliveries to one agent within a tenth of a second become one event, and are answered when it is in the log: nothing else
 * waits for the log, and the process has nothing to write at its end. An attempt that this process knows as recorded, or that is among the
 * agent's last events, is not recorded again.
 */
export const createAttemptRecorder = ({ log, now }: Pick<Recorder, 'log' | 'now'>): RecordAttempt => {
  const recorder: Recorder = {
    log,
    now,
    agents: createLruMap({ capacity: MAX_AGENTS }),
    attempts: createLruMap({ capacity: MAX_KNOWN }),
    texts: createLruMap({ capacity: MAX_KNOWN }),
  };
  return (tenant, report) => {
    const key = `${tenant}/${report.agent_id}`;
    const stream = recorder.agents.get(key) ?? { tenant, agent_id: report.agent_id, revision: -1, pending: [], writing: null };
    recorder.agents.set(key, stream);
    const recording = Promise.withResolvers<Position | null>();
    stream.pending.push({ ...report, text: textKey(tenant, report), ...recording });
    stream.writing ??= write(recorder, stream);
    return recording.promise.catch(throwAsRefusal);
  };
};
