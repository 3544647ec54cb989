import { join } from 'node:path';
import { type Msg, nanos } from 'nats';
import { z } from 'zod';
import { isJsonType, SPEC_VERSION } from '../../domain/runners/cloud-event.ts';
import { ACK_WAIT_MS } from '../../domain/runners/runner-credential.ts';
import { apiClient, retryTransient } from './api-client.ts';
import { type BrokerLink, messageConsumer } from './message-consumer.ts';
import { type Ledger, openLedger } from './processed-ids.ts';
import { type Run, runCommand } from './run-command.ts';

export type RunnerOptions = {
  url: string;
  key: string;
  /** Slug or id of the agent. */
  agent: string;
  /** A shell command; it gets one CloudEvent as JSON on its standard input. */
  exec: string;
  /** Ends the runner when the command that runs has ended; without it signals do, of which a second asks the command to end, and a third ends it. */
  signal?: AbortSignal;
  concurrency?: number;
  /** Where ledgers are kept, one file an agent. */
  dir?: string;
  /** How often the broker is told that work goes on. */
  workingMs?: number;
};

const MIN_RETRY_DELAY_MS = 1_000;
const MAX_RETRY_DELAY_MS = 300_000;

const CloudEvent = z.looseObject({
  specversion: z.literal(SPEC_VERSION),
  id: z.uuid(),
  subject: z.string(),
  delivery_id: z.string().default(''),
  datacontenttype: z.string().default(''),
  dataref: z.string().optional(),
});
type CloudEvent = z.output<typeof CloudEvent>;

const say = (line: string): void => void process.stderr.write(`annals runner: ${line}\n`);

const decoder = new TextDecoder('utf-8', { fatal: true });

const parsed = (message: Msg): CloudEvent | null => {
  try {
    return CloudEvent.safeParse(JSON.parse(decoder.decode(message.data))).data ?? null;
  } catch {
    return null;
  }
};

/** The same event with its body in it. */
const withBody = ({ dataref: _, ...event }: CloudEvent, body: Uint8Array): Uint8Array => {
  const head = JSON.stringify(event).slice(0, -1);
  try {
    const text = decoder.decode(body);
    if (isJsonType(event.datacontenttype) && JSON.parse(text) !== undefined) return Buffer.from(`${head},"data":${text}}`);
  } catch {
    // Not JSON after all: it goes as bytes.
  }
  return Buffer.from(`${head},"data_base64":"${body.toBase64()}"}`);
};

/** How long a message rests before it is handed out again. */
const delayAfter = (attempts: number): number => Math.min(MAX_RETRY_DELAY_MS, MIN_RETRY_DELAY_MS * 2 ** (attempts - 1));

/** How often a message was handed out: `$JS.ACK.<stream>.<consumer>.<times>.…`, or with domain and account before the stream. */
const attemptsOf = ({ reply = '' }: Msg): number => {
  const words = reply.split('.');
  return Number(words[words.length > 10 ? 6 : 4]) || 1;
};

const nak = (attempts: number): string => `-NAK ${JSON.stringify({ delay: nanos(delayAfter(attempts)) })}`;

/** What the commands that run are told. */
type Asked = Pick<Run, 'kill' | 'force'>;

type Parts = {
  link: BrokerLink;
  ledger: Ledger;
  body: (reference: string) => Promise<Uint8Array>;
  exec: string;
  slug: string;
  asked: Asked;
  workingMs: number;
};

const perform = async ({ link, body, exec, slug, asked, workingMs }: Parts, message: Msg, event: CloudEvent): Promise<number | string> => {
  try {
    return await runCommand({
      exec,
      input: event.dataref === undefined ? message.data : withBody(event, await body(event.dataref)),
      env: { ANNALS_EVENT_ID: event.id, ANNALS_DELIVERY_ID: event.delivery_id, ANNALS_SUBJECT: event.subject, ANNALS_AGENT: slug },
      tick: () => link.working(message),
      everyMs: workingMs,
      ...asked,
    });
  } catch (error) {
    return (error as Error).message;
  }
};

/** One message, to its end: done before, done now, to be tried again, or beyond what this runner understands. */
const handle = async (parts: Parts, message: Msg): Promise<void> => {
  const { link, ledger } = parts;
  const event = parsed(message);
  if (!event) {
    say('a message is no CloudEvent of a version that this runner knows; it is given up');
    return link.settle(message, '+TERM');
  }
  if (ledger.has(event.id)) return link.settle(message, '+ACK');
  const how = await perform(parts, message, event);
  if (how === 0) {
    ledger.add(event.id);
    return link.settle(message, '+ACK');
  }
  const attempts = attemptsOf(message);
  say(`the command ended with ${how} for ${event.id}, attempt ${attempts}; it is tried again in ${delayAfter(attempts) / 1_000} s`);
  return link.settle(message, nak(attempts));
};

/** Signals of its own, where the caller gives none; one that closes its terminal is one like the others. */
const signals = (): { stop: AbortSignal } & Asked => {
  const [stop, kill, force] = [new AbortController(), new AbortController(), new AbortController()];
  const asked = (): void => [stop, kill, force].find(({ signal }) => !signal.aborted)?.abort();
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, asked);
  return { stop: stop.signal, kill: kill.signal, force: force.signal };
};

const unasked = (): Asked => ({ kill: new AbortController().signal, force: new AbortController().signal });

const stopped = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => (signal.aborted ? resolve(null) : signal.addEventListener('abort', () => resolve(null), { once: true })));

/** One message after the other, until asked to stop. */
const lane = async (parts: Parts, stop: AbortSignal): Promise<void> => {
  const end = stopped(stop);
  while (!stop.aborted) {
    const message = await Promise.race([parts.link.pull(), end]);
    if (!message) continue;
    await handle(parts, message).catch((error: Error) =>
      say(`the broker could not be told: ${error.message}; it hands the message out again`),
    );
  }
};

/**
 * Gives an agent's deliveries to a command, each until it ended with 0 once. What was done is on disk before it is acknowledged, so that a
 * message that comes again is not run again. Resolves to the exit code. @throws Refusal of one line where it can't begin
 */
export const runner = async (options: RunnerOptions): Promise<number> => {
  const { url, key, agent, exec, signal, concurrency = 1, dir = join('.annals', 'runner'), workingMs = ACK_WAIT_MS / 2 } = options;
  const { stop, ...asked } = signal ? { stop: signal, ...unasked() } : signals();
  const annals = apiClient({ url, key });
  const place = await retryTransient(() => annals.find(agent), say, stop).catch((error: unknown) => {
    if (stop.aborted) return null;
    throw error;
  });
  if (!place) return 0;
  const failed = new AbortController();
  const ending = AbortSignal.any([stop, failed.signal]);
  const link = messageConsumer(
    () => annals.credential(place),
    (work) => retryTransient(work, say, ending),
  );
  const ledger = openLedger(join(dir, `${place.agent}.ledger`));
  const parts: Parts = { link, ledger, body: annals.body, exec, slug: place.slug, asked, workingMs };
  say(`waiting for deliveries to ${place.slug}`);
  try {
    await Promise.all(Array.from({ length: concurrency }, () => lane(parts, ending)));
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    failed.abort();
    await link.close();
  }
  return 0;
};
