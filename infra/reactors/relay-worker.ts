import { parentPort, workerData } from 'node:worker_threads';
import { tokenOf } from '../../domain/event.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import { connectInBackground } from '../nats/background-connection.ts';
import { openEventOpener } from '../vault/event-opener.ts';
import { type Relay, type RelayLogger, type RelayStatus, startRelay } from './relay.ts';

/** What the thread needs to know. `compileCache` is the directory of Node's compile cache. */
export type RelayTask = Pick<Config, 'natsUrl' | 'natsAccountSeed' | 'publicUrl' | 'masterKeyFile'> & {
  readonly eventstoreUrl: string;
  readonly compileCache: string;
};

/** `published` is a consistency token: the position up to which this relay has published every event, or null. */
export type RelayReport = { readonly status: RelayStatus; readonly published: string | null };

export type LogLevel = keyof RelayLogger;

/**
 * The messages of the thread. `logged` is a line for the log, `damaged` is about a damaged record of the event log,
 * `closed` says that the relay has stopped and the thread may be ended.
 */
export type RelayMessage =
  | ({ readonly kind: 'report' } & RelayReport)
  | { readonly kind: 'logged'; readonly level: LogLevel; readonly fields: object; readonly text: string }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'closed' };

/** `report`: the thread sends a report at once. `close`: the thread stops the relay. */
export type RelayRequest = 'report' | 'close';

/** How often a report is sent without a request, in milliseconds. */
export const REPORT_INTERVAL_MS = 1_000;
/** How often the thread checks whether the relay's state has changed, in milliseconds. */
const CHECK_INTERVAL_MS = 100;

const port = parentPort!;
const send = (message: RelayMessage): void => port.postMessage(message);

const logAt =
  (level: LogLevel): RelayLogger['warn'] =>
  (fields, text) =>
    send({ kind: 'logged', level, fields, text });
const logger: RelayLogger = { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') };

const UNCONNECTED: RelayStatus = {
  state: 'starting',
  position: null,
  published: 0,
  waiting: 0,
  last_error: 'there is no connection to the message broker yet',
  is_stream_stopped: false,
};

const run = (task: RelayTask): void => {
  const log = openLog(task.eventstoreUrl, { onDamage: (message) => send({ kind: 'damaged', message }) });
  // The process has a connection of its own, which warns while the broker cannot be reached.
  const broker = connectInBackground(task, { warn: () => {} });
  let relay: Relay | undefined;
  const starting = broker.whenConnected().then(async (nats) => {
    const openEvent = openEventOpener({ log, masterKeyFile: task.masterKeyFile });
    if (nats) relay = await startRelay({ log, nats, logger, publicUrl: task.publicUrl, openEvent });
  });

  let reported = { at: Number.NEGATIVE_INFINITY, state: '', reason: null as string | null };
  const report = (): void => {
    const status = relay?.status() ?? UNCONNECTED;
    const published = relay?.publishedThrough() ?? null;
    reported = { at: performance.now(), state: status.state, reason: status.last_error };
    send({ kind: 'report', status, published: published && tokenOf(published) });
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
    await broker.close();
    await log.close();
    send({ kind: 'closed' });
  };
  port.on('message', (request: RelayRequest) => (request === 'report' ? report() : void close()));
};

run(workerData as RelayTask);
