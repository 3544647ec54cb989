import { join } from 'node:path';
import { type Msg, nanos } from 'nats';
import { z } from 'zod';
import { isJsonType, SPEC_VERSION } from '../../domain/runners/cloud-event.ts';
import { ACK_WAIT_MS } from '../../domain/runners/runner-credential.ts';
import { retryDelay } from '../backoff.ts';
import { apiClient, retryTransient } from './api-client.ts';
import { type MessageConsumer, messageConsumer } from './message-consumer.ts';
import { createOutageReport } from './outage-report.ts';
import { openProcessedIds, type ProcessedIds } from './processed-ids.ts';
import { type CommandRun, runCommand } from './run-command.ts';
import { openRuntimeFiles } from './runtime-files.ts';
import { type RuntimeSource, runtimeSource } from './runtime-source.ts';

export type RunnerOptions = {
  url: string;
  key: string;
  /** The slug or the id of the agent. */
  agent: string;
  /** A shell command. It receives one CloudEvent, as JSON, on its standard input. */
  exec: string;
  /**
   * Aborting this signal stops the runner as soon as the running commands have ended. Without it, the runner reacts to
   * process signals: the first one stops it in the same way, the second one sends SIGTERM to the commands, and the
   * third one kills them.
   */
  signal?: AbortSignal;
  concurrency?: number;
  /** The runner ends after this many runs of the command. By default, it runs until it is stopped. */
  max?: number | undefined;
  /** A run of the command is ended after this many milliseconds, and counts as failed. */
  timeoutMs?: number | undefined;
  /** The directory for the files of processed ids, one per agent, and for the files with the runtime, one per run. */
  dir?: string;
  /** While a command runs, the runner reports progress to the broker at this interval, in milliseconds. */
  progressMs?: number;
};

const REDELIVERY_DELAY = { minMs: 1_000, maxMs: 300_000 };

const CloudEvent = z.looseObject({
  specversion: z.literal(SPEC_VERSION),
  id: z.uuid(),
  subject: z.string(),
  providerid: z.string().optional(),
  /** The provider's id of the delivery in messages of earlier versions, which had no `providerid`. */
  delivery_id: z.string().default(''),
  datacontenttype: z.string().default(''),
  dataref: z.string().optional(),
});
type CloudEvent = z.output<typeof CloudEvent>;

const report = (line: string): void => void process.stderr.write(`annals runner: ${line}\n`);

const decoder = new TextDecoder('utf-8', { fatal: true });

const parseEvent = (message: Msg): CloudEvent | null => {
  try {
    return CloudEvent.safeParse(JSON.parse(decoder.decode(message.data))).data ?? null;
  } catch {
    return null;
  }
};

/** Returns the event as JSON, with the body itself instead of the reference to it. */
const withBody = ({ dataref: _, ...event }: CloudEvent, body: Uint8Array): Uint8Array => {
  const head = JSON.stringify(event).slice(0, -1);
  try {
    const text = decoder.decode(body);
    if (isJsonType(event.datacontenttype) && JSON.parse(text) !== undefined) return Buffer.from(`${head},"data":${text}}`);
  } catch {
    // The body is not valid JSON, even if its content type is JSON. Pass it as base64.
  }
  return Buffer.from(`${head},"data_base64":"${body.toBase64()}"}`);
};

/**
 * Returns how often a message has been delivered. The count is part of the message's reply subject,
 * `$JS.ACK.<stream>.<consumer>.<count>.…`. Newer servers insert the domain and the account before the stream.
 */
const attemptsOf = ({ reply = '' }: Msg): number => {
  const tokens = reply.split('.');
  return Number(tokens[tokens.length > 10 ? 6 : 4]) || 1;
};

const negativeAck = (delayMs: number): string => `-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`;

/** The signals that end the running commands: `kill` sends them SIGTERM, `force` kills them. */
type CommandSignals = Pick<CommandRun, 'kill' | 'force'>;

type Worker = {
  messages: MessageConsumer;
  processed: ProcessedIds;
  body: (reference: string) => Promise<Uint8Array>;
  runtime: RuntimeSource;
  exec: string;
  slug: string;
  signals: CommandSignals;
  progressMs: number;
  timeoutMs: number | undefined;
};

/** The environment variables that a command gets for a message. */
const variablesFor = (slug: string, message: Msg, { id, subject, providerid, delivery_id }: CloudEvent): Record<string, string> => ({
  ANNALS_EVENT_ID: id,
  ANNALS_DELIVERY_ID: providerid ?? delivery_id,
  ANNALS_SUBJECT: subject,
  ANNALS_AGENT: slug,
  ANNALS_ATTEMPT: String(attemptsOf(message)),
});

const runFor = async (worker: Worker, message: Msg, event: CloudEvent): Promise<number | string> => {
  const { messages, body, runtime, exec, slug, signals, progressMs, timeoutMs } = worker;
  try {
    const input = event.dataref === undefined ? message.data : withBody(event, await body(event.dataref));
    return await runtime.withVariables((variables) =>
      runCommand({
        exec,
        input,
        env: { ...variablesFor(slug, message, event), ...variables },
        onProgress: () => messages.reportProgress(message),
        progressMs,
        timeoutMs,
        ...signals,
      }),
    );
  } catch (error) {
    return (error as Error).message;
  }
};

type Run = 'none' | 'succeeded' | 'failed';

/** Sends the broker the result of a message. If that fails, the broker delivers the message again. */
const settle = (messages: MessageConsumer, message: Msg, acknowledgement: string): Promise<void> =>
  messages
    .settle(message, acknowledgement)
    .catch((error: Error) => report(`the broker did not get the acknowledgement: ${error.message}; it delivers the message again`));

/**
 * Processes one message and sends the broker the result. If the event has been processed before, the message is only
 * acknowledged. If the command fails, the broker delivers the message again. A message that is not a valid CloudEvent
 * is dropped.
 * @returns whether the command has run, and how
 */
const handle = async (worker: Worker, message: Msg): Promise<Run> => {
  const { messages, processed } = worker;
  const event = parseEvent(message);
  if (!event) {
    report('a message is not a CloudEvent of a version that this runner supports; it is dropped');
    await settle(messages, message, '+TERM');
    return 'none';
  }
  if (processed.has(event.id)) {
    await settle(messages, message, '+ACK');
    return 'none';
  }
  const outcome = await runFor(worker, message, event);
  if (outcome === 0) {
    processed.add(event.id);
    await settle(messages, message, '+ACK');
    return 'succeeded';
  }
  const attempts = attemptsOf(message);
  const delayMs = retryDelay(REDELIVERY_DELAY, attempts);
  report(`the command ended with ${outcome} for ${event.id}, attempt ${attempts}; it is tried again in ${delayMs / 1_000} s`);
  await settle(messages, message, negativeAck(delayMs));
  return 'failed';
};

/**
 * Connects process signals to abort signals: the first process signal stops the runner, the second one sends SIGTERM to
 * the commands, and the third one kills them.
 */
const processSignals = (): { stop: AbortSignal } & CommandSignals => {
  const [stop, kill, force] = [new AbortController(), new AbortController(), new AbortController()];
  const abortNext = (): void => [stop, kill, force].find(({ signal }) => !signal.aborted)?.abort();
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, abortNext);
  return { stop: stop.signal, kill: kill.signal, force: force.signal };
};

const noSignals = (): CommandSignals => ({ kill: new AbortController().signal, force: new AbortController().signal });

const aborted = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => (signal.aborted ? resolve(null) : signal.addEventListener('abort', () => resolve(null), { once: true })));

/** The runs of the command that may still begin, and whether one has failed. All workers of a runner share it. */
type Budget = { left: number; hasFailed: boolean };

/** Handles messages one after another until `stop` is aborted or no further run may begin. */
const handleMessages = async (worker: Worker, budget: Budget, stop: AbortSignal): Promise<void> => {
  const stopped = aborted(stop);
  while (!stop.aborted && budget.left > 0) {
    budget.left--;
    const message = await Promise.race([worker.messages.pull(), stopped]);
    const run = message ? await handle(worker, message) : 'none';
    if (run === 'none') budget.left++;
    if (run === 'failed') budget.hasFailed = true;
  }
};

/**
 * Runs a command for each message that delivers an event to an agent, again and again until the command exits with code
 * 0. Then the runner writes the event's id to the disk, and only after that acknowledges the message. So the command
 * does not run again if the broker delivers the message again.
 * @returns the exit code: 1 if the runner has ended after `max` runs and one of them has failed
 * @throws Refusal with a message of one line, if the runner cannot start
 */
export const runner = async (options: RunnerOptions): Promise<number> => {
  const { url, key, signal, exec, concurrency = 1, max = Number.POSITIVE_INFINITY, timeoutMs } = options;
  const { dir = join('.annals', 'runner'), progressMs = ACK_WAIT_MS / 2 } = options;
  const { stop, ...signals } = signal ? { stop: signal, ...noSignals() } : processSignals();
  const api = apiClient({ url, key, outage: createOutageReport(report, 'the service answers again') });
  const agent = await retryTransient(() => api.find(options.agent), stop).catch((error: unknown) => {
    if (stop.aborted) return null;
    throw error;
  });
  if (!agent) return 0;
  const failed = new AbortController();
  const ending = AbortSignal.any([stop, failed.signal]);
  const messages = messageConsumer({
    issue: () => api.credential(agent),
    retry: (work) => retryTransient(work, ending),
    outage: createOutageReport(report, 'connected to the broker again'),
  });
  const runtime = runtimeSource({ agent, fetch: api.runtime, files: openRuntimeFiles(join(dir, 'runtime')), report });
  const processed = openProcessedIds(join(dir, `${agent.agent}.ledger`));
  const worker: Worker = { messages, processed, body: api.body, runtime, exec, slug: agent.slug, signals, progressMs, timeoutMs };
  const budget: Budget = { left: max, hasFailed: false };
  report(`waiting for deliveries to ${agent.slug}`);
  try {
    await Promise.all(Array.from({ length: concurrency }, () => handleMessages(worker, budget, ending)));
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    failed.abort();
    await messages.close();
  }
  return budget.left === 0 && budget.hasFailed ? 1 : 0;
};
