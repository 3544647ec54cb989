import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { blobDirectoryOf, defaultBlobsUrl } from '../blobs/blob-location.ts';
import { makeDirectory, readJson } from '../durable-files.ts';
import { listenUrl, loopback } from '../listen-url.ts';
import type { ProcessLock } from '../process-lock.ts';
import { serveProcess, workProcess } from '../supervision/child-processes.ts';
import { killHelpers } from '../supervision/helper-programs.ts';
import { type ManagedProcess, type ProcessDirs, replaceProcess } from '../supervision/managed-process.ts';
import { isPortFree } from '../supervision/ports.ts';
import { waitUntilTenantIsListed } from '../supervision/readiness-probe.ts';
import { createStreamRecovery, type StreamReport } from '../supervision/stream-recovery.ts';
import { type Supervised, supervise } from '../supervision/supervisor.ts';
import { lockDataDirectory } from './data-directory.ts';
import { type ServiceConfig, type ServicePorts, type ServiceUrls, startEmbeddedServices } from './embedded-services.ts';

export type LaunchConfig = ServiceConfig & {
  readonly host: string;
  readonly port: number;
  /** The URL in links. By default, it is that on which the HTTP service listens. */
  readonly publicUrl?: string;
};

/**
 * The message with which the process `serve` sends the first API key to the supervisor, after creating it in an empty
 * log. The text of the key is not stored anywhere. `link` signs in a browser to the console, once.
 */
export type FirstKey = { kind: 'first-key'; key: string; tenant_id: string; link: string };

/** A running platform, whose processes all run on this machine. */
export type Launched = {
  /** The URL on which the HTTP service listens. */
  readonly url: string;
  readonly urls: ServiceUrls;
  readonly ports: Readonly<ServicePorts>;
  readonly firstKey: () => FirstKey | undefined;
  /** Returns the pid of the process with this name; undefined while the process is down. */
  readonly pid: (name: string) => number | undefined;
};

export type Launch = {
  readonly ready: Promise<Launched>;
  /** Stops all processes in this order: serve and work, NATS, PostgreSQL, event store. */
  readonly close: () => Promise<void>;
  readonly kill: () => void;
};

export type LaunchEvents = {
  /** Called with lines for the operator, for example that a process had to be restarted. */
  readonly report: (line: string) => void;
  /**
   * Called with the first API key as soon as it exists. The function should show the key at once: if the start fails
   * later, the key is not shown again.
   */
  readonly onFirstKey?: (first: FirstKey) => void;
};

/** The maximum time in milliseconds that `close` waits for services whose start is still being prepared. */
const PREPARATION_TIMEOUT_MS = 1_000;

const requirePort = async ({ port, host }: LaunchConfig): Promise<void> => {
  const isFree = await isPortFree(port, host).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`HOST ${host} and PORT ${port} cannot be listened on: ${error.code}`);
  });
  if (!isFree) throw new Error(`PORT ${port} on ${host} is taken; set PORT to another one`);
};

/** The state of one start of the platform. */
type Launching = {
  readonly config: LaunchConfig;
  readonly dirs: ProcessDirs;
  readonly onFirstKey: (first: FirstKey) => void;
  readonly running: Map<string, Supervised>;
  readonly closing: AbortController;
  readonly preparing: Promise<unknown>[];
  lock: ProcessLock | undefined;
  firstKey: FirstKey | undefined;
};

const run = async ({ dirs, closing, running }: Launching, spec: ManagedProcess): Promise<Supervised> => {
  await replaceProcess(spec, dirs);
  closing.signal.throwIfAborted();
  const supervised = supervise(spec, dirs);
  running.set(spec.name, supervised);
  return supervised;
};

/** The message with which a process sends a line for the operator. */
export type Notice = { kind: 'notice'; line: string };

type Message = FirstKey | Notice | StreamReport;

/** Creates the function that handles the messages of the processes `serve` and `work`. */
const messageHandler = (launching: Launching): ((message: unknown) => void) => {
  const { config, running } = launching;
  const onStreamReport = createStreamRecovery({
    dir: config.annalsData,
    restart: () => running.get('nats')?.restart('its stream stopped at a write error, and the disk has free space again'),
  });
  return (message) => {
    const known = message as Message | null;
    if (known?.kind === 'stream' && running.has('nats')) onStreamReport(known);
    if (known?.kind === 'notice') launching.dirs.report(known.line);
    if (known?.kind !== 'first-key') return;
    launching.firstKey = known;
    launching.onFirstKey(known);
  };
};

const begin = async (launching: Launching): Promise<Launched> => {
  const { config, dirs, running, preparing } = launching;
  const { annalsData } = config;
  const url = listenUrl(config);
  const stateFile = join(annalsData, 'state.json');
  const baseEnv = {
    ...process.env,
    ANNALS_DATA: annalsData,
    PORT: String(config.port),
    HOST: config.host,
    PUBLIC_URL: process.env.PUBLIC_URL || url,
    BLOBS_URL: process.env.BLOBS_URL || defaultBlobsUrl(annalsData),
  };
  const onMessage = messageHandler(launching);
  const serve = (env: NodeJS.ProcessEnv): ManagedProcess => serveProcess({ env, base: loopback(url), report: dirs.report, onMessage });

  launching.lock = lockDataDirectory(annalsData);
  if (!process.env.BLOBS_URL) makeDirectory(blobDirectoryOf(annalsData));
  // An earlier start may have left processes running. They are ended first, because they may still listen on the port.
  await Promise.all([serve(baseEnv), workProcess(baseEnv, onMessage)].map((spec) => replaceProcess(spec, dirs)));
  await requirePort(config);
  const { urls, ports, ready } = await startEmbeddedServices({
    config,
    lastPorts: readJson<{ ports?: ServicePorts }>(stateFile)?.ports ?? {},
    run: (spec) => run(launching, spec),
    report: dirs.report,
    onStarting: (starting) => preparing.push(starting),
  });
  writeFileSync(stateFile, JSON.stringify({ ports, url: config.publicUrl ?? url }), { mode: 0o600 });
  const env = { ...baseEnv, ...urls };
  const processes = await Promise.all([run(launching, serve(env)), run(launching, workProcess(env, onMessage))]);
  await Promise.all([ready, ...processes.map((each) => each.ready)]);
  if (launching.firstKey) await waitUntilTenantIsListed(loopback(url), launching.firstKey.key, launching.closing.signal);
  return { url, urls, ports, firstKey: () => launching.firstKey, pid: (name) => running.get(name)?.pid() };
};

const close = async ({ closing, running, preparing, lock }: Launching): Promise<void> => {
  const stop = (name: string): Promise<void> | undefined => running.get(name)?.stop();
  closing.abort(new Error('stopped while it was starting'));
  killHelpers();
  await Promise.all([stop('serve'), stop('work')]);
  await stop('nats');
  await stop('postgres');
  await stop('store');
  await Promise.race([Promise.allSettled(preparing), sleep(PREPARATION_TIMEOUT_MS)]);
  lock?.release();
};

/** Starts every service that has no configured URL, and the processes `serve` and `work`. */
export const launch = (config: LaunchConfig, { report, onFirstKey = () => {} }: LaunchEvents): Launch => {
  const { annalsData } = config;
  const launching: Launching = {
    config,
    dirs: { logs: join(annalsData, 'logs'), run: join(annalsData, 'run'), report },
    onFirstKey,
    running: new Map(),
    closing: new AbortController(),
    preparing: [],
    lock: undefined,
    firstKey: undefined,
  };
  return {
    ready: begin(launching),
    close: () => close(launching),
    kill: () => {
      for (const each of launching.running.values()) each.kill('SIGKILL');
    },
  };
};
