import { tokenOf } from '../../domain/event.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import { connectInBackground } from '../nats/background-connection.ts';
import { surviveOutages } from '../unhandled-rejection.ts';
import { openEventOpener } from '../vault/event-opener.ts';
import type { RelayLogger } from './publish-events.ts';
import { type Relay, type RelayStatus, startRelay } from './relay.ts';

export type RelayTask = Pick<Config, 'natsUrl' | 'natsAccountSeed' | 'publicUrl' | 'masterKeyFile'> & { readonly eventstoreUrl: string };

/** Every event up to `published`, a consistency token, is published; null if unknown. */
export type RelayReport = { readonly status: RelayStatus; readonly published: string | null };

export type LogLevel = keyof RelayLogger;

/** `logged` is a line for the log, `damaged` a damaged record of the event log, `failed` why the process ends. */
export type RelayMessage =
  | ({ readonly kind: 'report' } & RelayReport)
  | { readonly kind: 'logged'; readonly level: LogLevel; readonly fields: object; readonly text: string }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** `start` comes first. On `report`, the process reports at once; on `close`, it stops the relay and ends. */
export type RelayRequest = { readonly kind: 'start'; readonly task: RelayTask } | { readonly kind: 'report' | 'close' };

/** How often the process sends a report without a request, in milliseconds. */
export const REPORT_INTERVAL_MS = 1_000;
/** How often the process checks whether the relay's state has changed, in milliseconds. */
const CHECK_INTERVAL_MS = 100;

/** Resolves when the message is sent or cannot be sent. */
const send = (message: RelayMessage): Promise<void> =>
  new Promise((resolve) => (process.connected ? process.send!(message, undefined, undefined, () => resolve()) : resolve()));

const logAt =
  (level: LogLevel): RelayLogger['warn'] =>
  (fields, text) =>
    void send({ kind: 'logged', level, fields, text });
const logger: RelayLogger = { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') };

const UNCONNECTED: RelayStatus = {
  state: 'starting',
  position: null,
  published: 0,
  waiting: 0,
  last_error: 'there is no connection to the message broker yet',
  is_stream_stopped: false,
};

/** Returns the functions that handle the requests of the parent process. */
const run = (task: RelayTask) => {
  const log = openLog(task.eventstoreUrl, { onDamage: (message) => void send({ kind: 'damaged', message }) });
  // Log no warnings here: the parent process logs them for its own connection.
  const broker = connectInBackground(task, { warn: () => {} });
  let relay: Relay | undefined;
  const { openEvent, prepare, close: closeOpener } = openEventOpener({ log, masterKeyFile: task.masterKeyFile });
  const prepared = prepare();
  const starting = broker.whenConnected().then(async (nats) => {
    await prepared;
    if (nats) relay = await startRelay({ log, nats, logger, publicUrl: task.publicUrl, openEvent });
  });

  let reported = { at: Number.NEGATIVE_INFINITY, state: '', reason: null as string | null };
  const report = (): void => {
    const status = relay?.status() ?? UNCONNECTED;
    const published = relay?.publishedThrough() ?? null;
    reported = { at: performance.now(), state: status.state, reason: status.last_error };
    void send({ kind: 'report', status, published: published && tokenOf(published) });
  };
  const timer = setInterval(() => {
    const { state, last_error } = relay?.status() ?? UNCONNECTED;
    const hasChanged = state !== reported.state || last_error !== reported.reason;
    if (hasChanged || performance.now() - reported.at >= REPORT_INTERVAL_MS) report();
  }, CHECK_INTERVAL_MS);

  const close = async (): Promise<void> => {
    clearInterval(timer);
    if (!broker.isHealthy()) await broker.close();
    await starting;
    await relay?.close();
    await closeOpener();
    await broker.close();
    await log.close();
    // The NATS client may still try to connect, which would keep this process running.
    process.exit();
  };
  return { report, close };
};

let running: ReturnType<typeof run> | undefined;

process.on('message', (request: RelayRequest) => {
  if (request.kind === 'start') running = run(request.task);
  else if (request.kind === 'report') running?.report();
  else void running?.close();
});
// The parent process may end without sending `close`, even while this process starts.
process.on('disconnect', () => process.exit());
if (!process.connected) process.exit();
surviveOutages((line) => logger.warn({}, line));
process.on('uncaughtException', (error) => {
  const reason = error instanceof Error ? error.message : String(error);
  void send({ kind: 'failed', reason }).finally(() => process.exit(1));
});
