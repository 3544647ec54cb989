import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import type { ReactorCtx } from '../../../commands/context.ts';
import { redriveLost, type SentAgain } from '../../../commands/deliveries/redeliver.ts';
import { repeatLostMessage } from '../../../commands/sessions/repeat-message.ts';
import { comparePositions } from '../../../domain/event.ts';
import { Instant } from '../../../domain/fields.ts';
import { isId25 } from '../../../domain/id.ts';
import { shownValue } from '../../../domain/shown-value.ts';
import { reactorContext } from '../../aggregates/reactor-context.ts';
import type { Config } from '../../config.ts';
import { openLog } from '../../eventstore/client.ts';
import type { Log } from '../../eventstore/event-log.ts';
import { printLine } from '../../logging/print-line.ts';
import { connectNats } from '../../nats/connect.ts';
import { ensureInbound, MAX_MESSAGE_AGE_MS, readTip } from '../../nats/jetstream.ts';
import { errorReason } from '../../nats/jetstream-errors.ts';
import { readOutstandingIds } from '../../nats/outstanding-messages.ts';
import { printError } from '../../processes/exit.ts';
import { positionBefore, resumePosition } from '../../reactors/resume-position.ts';
import { acknowledgedIdsSince, createIdSet } from '../../relay/acknowledged-ids.ts';
import { usageError } from '../arguments.ts';
import { locateServices } from '../locate-services.ts';
import { createResendReport } from './resend-report.ts';
import { createUnsettledFold, followedTypes, type Unsettled } from './unsettled-messages.ts';

export type RedriveOptions = {
  readonly since: string | undefined;
  readonly tenant: string | undefined;
  readonly dryRun: boolean;
  readonly verbose: boolean;
};

const ACTOR = { kind: 'system', id: 'annals redrive' } as const;
const CONNECT_TIMEOUT_MS = 10_000;
const PROGRESS_INTERVAL_MS = 1_000;
/** The time to wait until acknowledgements are recorded, in milliseconds. They are recorded every 2 s. */
const RECORDING_MS = 5_000;

type Selection = { readonly ageMs: number; readonly tenant: string | undefined };

const selectionOf = ({ since, tenant }: RedriveOptions): Selection => {
  const from = since === undefined ? undefined : Instant.safeParse(since).data;
  if (since !== undefined && from === undefined)
    throw usageError(`--since must be a time such as 2026-11-21T10:00:00Z; it is ${shownValue(since)}`);
  if (tenant !== undefined && !isId25(tenant)) throw usageError('--tenant must be a tenant id');
  const ageMs = from === undefined ? MAX_MESSAGE_AGE_MS : Date.now() - Date.parse(from);
  if (ageMs <= 0) throw usageError('--since must be a time in the past');
  return { ageMs, tenant };
};

/** Returns the messages since a time that are neither acknowledged nor given up, in the order of the log. */
const unsettledSince = async (log: Log, { ageMs, tenant }: Selection): Promise<Unsettled[]> => {
  const { messages, apply } = createUnsettledFold();
  const oldest = new Date(Date.now() - ageMs).toISOString();
  const caughtUp = Promise.withResolvers<void>();
  const subscription = log.follow({
    from: await positionBefore(log, ageMs, new AbortController().signal),
    filter: { eventTypes: followedTypes },
    event: (event) => {
      if (event.at >= oldest && (tenant === undefined || event.tenant === tenant)) apply(event as Parameters<typeof apply>[0]);
    },
    caughtUp: caughtUp.resolve,
  });
  const failed = subscription.failure.then((error) => {
    if (error) throw error;
  });
  await Promise.race([caughtUp.promise, failed]);
  await subscription.stop();
  return messages().sort((a, b) => comparePositions(a.position, b.position));
};

const missingAtBroker = async (nats: NatsConnection, messages: readonly Unsettled[]): Promise<Unsettled[]> => {
  const missing: Unsettled[] = [];
  for (const group of Map.groupBy(messages, ({ tenant, agent_id }) => `${tenant} ${agent_id}`).values()) {
    const { tenant, agent_id } = group[0]!;
    const outstanding = createIdSet();
    await readOutstandingIds(nats, tenant, agent_id, outstanding.add);
    missing.push(...group.filter(({ message_id }) => !outstanding.has(message_id)));
  }
  return missing;
};

/** Waits a few seconds before it reads the log again: the broker removes a message before the log records the reason. */
const withoutSettled = async (log: Log, missing: readonly Unsettled[]): Promise<readonly Unsettled[]> => {
  const first = missing.toSorted((a, b) => comparePositions(a.position, b.position))[0];
  if (!first) return missing;
  await sleep(RECORDING_MS);
  const settled = await acknowledgedIdsSince(log, first.position, new AbortController().signal);
  return missing.filter((message) => !settled.has('event_id' in message ? message.event_id : message.message_id));
};

/** Prints to standard error, once per second. */
const createProgress = (total: number) => {
  let printedAt = Date.now();
  return (done: number): void => {
    if (Date.now() - printedAt < PROGRESS_INTERVAL_MS) return;
    printedAt = Date.now();
    printError(`${done} of ${total}`);
  };
};

const sendAgain = (ctx: ReactorCtx, message: Unsettled, dryRun: boolean): Promise<SentAgain> =>
  'session_id' in message ? repeatLostMessage(ctx, message, dryRun) : redriveLost(ctx, message, dryRun);

/** Returns the exit code: 1 if the event store refused some messages. */
const sendAll = async (log: Log, lost: readonly Unsettled[], options: RedriveOptions): Promise<number> => {
  const ctx = reactorContext(log, { actor: ACTOR });
  const report = createResendReport(options);
  const progress = createProgress(lost.length);
  for (const [index, message] of lost.entries()) {
    progress(index);
    report.add(message, await sendAgain(ctx, message, options.dryRun).catch((error: Error) => error));
  }
  return report.end();
};

const connect = async (config: Config): Promise<NatsConnection> => {
  const { natsUrl, natsAccountSeed } = locateServices(config);
  const connecting = connectNats({ natsUrl, natsAccountSeed }, { waitForServer: false }).catch((error: unknown) => {
    throw new Error(`the message broker cannot be reached: ${errorReason(error)}`);
  });
  const timeout = sleep(CONNECT_TIMEOUT_MS, undefined, { ref: false }).then(() => {
    throw new Error('the message broker does not answer');
  });
  return Promise.race([connecting, timeout]);
};

/**
 * Compares the log with the broker, without messages that the relay has not published yet, and sends the missing ones. A repeated call,
 * even after an interruption, sends no message twice. Returns the exit code.
 */
export const redrive = async (config: Config, options: RedriveOptions): Promise<number> => {
  const selection = selectionOf(options);
  const log = openLog(locateServices(config).eventstoreUrl);
  let nats: NatsConnection | undefined;
  try {
    await log.ping();
    nats = await connect(config);
    await ensureInbound(nats);
    const relayed = await resumePosition(log, await readTip(nats), new AbortController().signal);
    const unsettled = await unsettledSince(log, selection);
    const isRelayed = ({ position }: Unsettled): boolean => relayed !== undefined && comparePositions(position, relayed) <= 0;
    const published = unsettled.filter(isRelayed);
    const lost = await withoutSettled(log, await missingAtBroker(nats, published));
    const [waiting, left] = [published.length - lost.length, unsettled.length - published.length];
    printLine(`${unsettled.length} without an acknowledgement: ${waiting} at the broker, ${left} left to the relay, ${lost.length} lost`);
    return await sendAll(log, lost, options);
  } finally {
    await nats?.close();
    await log.close();
  }
};
