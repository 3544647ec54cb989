import type { Msg } from 'nats';
import { encodeReport } from '../../commands/benchmarks/task-report.ts';
import { Refusal } from '../../domain/refusal.ts';
import { BENCHMARK_MESSAGE_TYPE, CRON_MESSAGE_TYPE } from '../../domain/runners/cloud-event.ts';
import { REDELIVERY_DELAY } from '../../domain/runners/redelivery-delay.ts';
import { MAX_DELIVERY_ATTEMPTS } from '../../domain/runners/runner-credential.ts';
import { scoreSubject } from '../../domain/runners/score-report.ts';
import { isSessionMessage } from '../../domain/runners/session-message.ts';
import { retryDelay } from '../backoff.ts';
import { retryTransient } from './api-client.ts';
import type { AttemptReporter } from './attempt-reporter.ts';
import type { BudgetGate } from './budget-gate.ts';
import { attemptsOf, type CloudEvent, parseEvent, withBody, withValidNames } from './cloud-event.ts';
import { causeOfError, type Failure } from './failed-attempt.ts';
import type { LiveSession, OpenedSession } from './live-session.ts';
import { negativeAck, PROGRESS_INTERVAL_MS } from './message-consumer.ts';
import type { ProcessedIds } from './processed-ids.ts';
import type { PublishResult } from './result-lines.ts';
import type { ReceiveOptions } from './runner-session.ts';
import type { OrderedConsumer, OrderOptions } from './session-order.ts';
import { GIVEN_BACK, withinBudget } from './within-budget.ts';

/** `json` is the CloudEvent with its body, even if that was too large for the message. */
export type ReceivedEvent = {
  readonly event: CloudEvent;
  readonly json: Uint8Array;
  readonly attempt: number;
  /** Publishes the result of a benchmark task. Only for events of benchmark runs. */
  readonly publishResult: PublishResult;
  /** Present only for an event of a session. */
  readonly live?: LiveSession;
};

/** Processes an event. Returns null if it succeeds, otherwise the failure. Must not throw. */
export type EventHandler = (received: ReceivedEvent) => Promise<Failure | null>;

export type Arrived = { readonly message: Msg; readonly event: CloudEvent };

/** Does the work on an event. For an event of a session, `work` gets its live session, which is open meanwhile. */
export type Steering = (arrived: Arrived, work: (live?: OpenedSession) => Promise<Failure | null>) => Promise<Failure | null>;

export type ReceiverOptions = {
  /** Opens the messages of the agent. After `ending` is aborted, the consumer returns what it gets to the broker, and no longer waits. */
  readonly open: (ending: AbortSignal, working: OrderOptions['working']) => OrderedConsumer;
  readonly processed: ProcessedIds;
  /** Fetches a body too large for its message. Waits while the service is unavailable. @throws Refusal */
  readonly body: (reference: string) => Promise<Uint8Array>;
  readonly handler: EventHandler;
  readonly steered: Steering;
  readonly budget: BudgetGate;
  /** Sends a report to the service for each failed run. */
  readonly reporter: AttemptReporter;
  readonly report: (line: string) => void;
  readonly progressMs: ReceiveOptions['progressMs'];
};

type Receiver = ReceiverOptions & {
  readonly messages: OrderedConsumer;
  readonly ending: AbortSignal;
  /** The events on which workers work, by id, with the last message in which the broker has delivered them. */
  readonly working: Map<string, Msg>;
};

export type ReceiveLimits = Pick<ReceiveOptions, 'concurrency' | 'max'> & { readonly stop: AbortSignal };

/** If this fails, the broker delivers the message again. */
const settle = ({ messages, report }: Receiver, message: Msg, acknowledgement: string): Promise<void> =>
  messages
    .settle(message, acknowledgement)
    .catch((error: Error) => report(`the broker did not get the acknowledgement: ${error.message}; it delivers the message again`));

/** Publishes results of the benchmark run in a CloudEvent, with its id in each of them. */
const resultPublisher =
  ({ messages }: Receiver, { type, tenant = '', agent = '', subject }: CloudEvent): PublishResult =>
  async (result) => {
    if (type !== BENCHMARK_MESSAGE_TYPE) throw new Refusal('invalid', 'only an event with a benchmark run has results');
    await messages.publish(scoreSubject(tenant, agent), encodeReport({ ...(result as object), run_id: subject }));
  };

type Received = Arrived & { readonly live: OpenedSession | undefined };

const process = async (receiver: Receiver, { message, event, live }: Received): Promise<Failure | null> => {
  const { body, handler, ending } = receiver;
  const { dataref } = event;
  try {
    const json =
      dataref === undefined ? withValidNames(event, message.data) : withBody(event, await retryTransient(() => body(dataref), ending));
    const received = { event, json, attempt: attemptsOf(message), publishResult: resultPublisher(receiver, event) };
    return await (live ? live.run(() => handler({ ...received, live })) : handler(received));
  } catch (error) {
    return { reason: `the event cannot be processed: ${(error as Error).message}`, cause: causeOfError(error, 'failed') };
  }
};

/** Waits for the budget. Reports progress meanwhile, so that the broker does not deliver the message again. */
const processWithProgress = async (receiver: Receiver, message: Msg, event: CloudEvent): Promise<Failure | null> => {
  const { messages, steered, budget, progressMs = PROGRESS_INTERVAL_MS } = receiver;
  const progress = setInterval(() => messages.reportProgress(message), progressMs);
  const work = (live?: OpenedSession): Promise<Failure | null> => {
    const ending = live ? AbortSignal.any([receiver.ending, live.signal]) : receiver.ending;
    return withinBudget({ budget, ending }, () => process(receiver, { message, event, live }));
  };
  return steered({ message, event }, work).finally(() => clearInterval(progress));
};

/** Says which attempt has failed, and what happens now. After the last one, the broker gives the message up. */
export const nextAttempt = (attempts: number, delayMs: number, type?: unknown): string =>
  attempts < MAX_DELIVERY_ATTEMPTS
    ? `attempt ${attempts} of ${MAX_DELIVERY_ATTEMPTS}; it is tried again in ${Math.round(delayMs / 100) / 10} s`
    : `attempt ${attempts}, the last one; it is given up: once the cause is mended, ${isSessionMessage(type) ? 'write in the session again' : 'annals deliveries redeliver sends it again'}`;

type Run = 'none' | 'succeeded' | 'failed';

/** If the broker delivers the message again meanwhile, it is not processed twice. Returns its last delivery with the failure. */
const processOnce = async (receiver: Receiver, { message, event }: Arrived) => {
  const { working } = receiver;
  working.set(event.id, message);
  try {
    const failure = await processWithProgress(receiver, message, event);
    return { failure, last: working.get(event.id)! };
  } finally {
    working.delete(event.id);
  }
};

/** A message whose event failed is delivered again, except that of a cron job, whose settings say whether and when it is tried again. */
const settleFailure = async (receiver: Receiver, { message, event }: Arrived, failure: Failure): Promise<Run> => {
  const { report } = receiver;
  if (failure === GIVEN_BACK) {
    report(`${failure.reason}: ${event.id} is given back`);
    await settle(receiver, message, '-NAK');
    return 'none';
  }
  if (event.type === CRON_MESSAGE_TYPE && failure.delayMs === undefined) {
    report(`${failure.reason} for ${event.id}; the settings of its cron job say whether it is tried again`);
    await settle(receiver, message, '+TERM');
    return 'failed';
  }
  const attempts = attemptsOf(message);
  const delayMs = attempts >= MAX_DELIVERY_ATTEMPTS ? 0 : (failure.delayMs ?? retryDelay(REDELIVERY_DELAY, attempts));
  report(`${failure.reason} for ${event.id}, ${nextAttempt(attempts, delayMs, event.type)}`);
  await settle(receiver, message, negativeAck(delayMs));
  return 'failed';
};

const work = async (receiver: Receiver, arrived: Arrived): Promise<Run> => {
  const { event } = arrived;
  const startedAt = performance.now();
  const { failure, last } = await processOnce(receiver, arrived);
  if (failure) {
    const seconds = (performance.now() - startedAt) / 1_000;
    receiver.reporter.add({ event, attempt: attemptsOf(arrived.message), failure, seconds });
    return settleFailure(receiver, { message: last, event }, failure);
  }
  receiver.processed.add(event.id);
  await settle(receiver, last, '+ACK');
  return 'succeeded';
};

/**
 * A message that was processed before, or is not a valid CloudEvent, is not delivered again. Returns whether the handler has run, and
 * whether it succeeded.
 */
const handle = async (receiver: Receiver, message: Msg): Promise<Run> => {
  const { processed, working, messages, report } = receiver;
  const event = parseEvent(message);
  if (!event) {
    report('a message is not a CloudEvent of a version that this runner supports; it is dropped');
    await settle(receiver, message, '+TERM');
    return 'none';
  }
  if (processed.has(event.id)) {
    await settle(receiver, message, '+ACK');
    return 'none';
  }
  if (!working.has(event.id)) return work(receiver, { message, event });
  working.set(event.id, message);
  messages.reportProgress(message);
  return 'none';
};

/** The number of runs of the handler that may still start, and whether one has failed. */
type Budget = { left: number; hasFailed: boolean };

/** Waits for the budget first, so that a used-up one costs no message an attempt. */
const nextMessage = async ({ budget, messages }: Receiver, stop: AbortSignal): Promise<Msg | null> =>
  (await budget.untilOpen(stop, messages.keepOpen)) && !stop.aborted ? messages.pull() : null;

/** Handles messages one after another until `stop` is aborted, or no more runs may start. */
const handleMessages = async (receiver: Receiver, budget: Budget, stop: AbortSignal): Promise<void> => {
  while (!stop.aborted && budget.left > 0) {
    budget.left--;
    const message = await nextMessage(receiver, stop);
    const run = message ? await handle(receiver, message) : 'none';
    if (run === 'none') budget.left++;
    if (run === 'failed') budget.hasFailed = true;
  }
};

/**
 * After `stop`, waits for the events in progress. A processed event's id is on the disk before its message is acknowledged, so a repeated
 * delivery is not processed. Returns whether the runner has ended by `max` with a failed run.
 * @throws Refusal if there are no credentials
 */
export const receiveEvents = async (options: ReceiverOptions, { stop, concurrency = 1, max }: ReceiveLimits): Promise<boolean> => {
  const budget: Budget = { left: max ?? Number.POSITIVE_INFINITY, hasFailed: false };
  const failed = new AbortController();
  const ending = AbortSignal.any([stop, failed.signal]);
  const working: Receiver['working'] = new Map();
  const receiver: Receiver = { ...options, messages: options.open(ending, working), ending, working };
  try {
    await Promise.all(Array.from({ length: concurrency }, () => handleMessages(receiver, budget, ending)));
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    failed.abort();
    await Promise.all([receiver.messages.close(), receiver.reporter.close()]);
  }
  return budget.left === 0 && budget.hasFailed;
};
