import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, variableNames } from '../../config.ts';
import { launch } from '../../processes/launch.ts';
import { freePort } from '../../supervision/ports.ts';

/** `isOwn`: the demo has started the platform, and will remove it. */
export type DemoPlatform = {
  readonly url: string;
  readonly key: string;
  readonly isOwn: boolean;
  /** The tenant that the demo uses. If it is null, the demo uses the first tenant that the key can see. */
  readonly tenant: string | null;
  readonly dir: string;
  readonly close: () => Promise<void>;
};

const PREPARATION_TIMEOUT_MS = 5_000;
/** Other users may pass through: if root runs the demo, PostgreSQL runs as another user and must reach its directory. */
const PASSABLE = 0o711;

const temporaryDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-demo-'));
  chmodSync(dir, PASSABLE);
  return dir;
};

const startPlatform = async (config: Config, dir: string, report: (line: string) => void, stopped: AbortSignal): Promise<DemoPlatform> => {
  const port = await freePort();
  const broker = { natsUrl: undefined, natsAccountSeed: undefined, natsRunnerAccountSeed: undefined };
  const embedded = { eventstoreUrl: undefined, databaseUrl: undefined, ...broker };
  // Processes inherit the environment: without these variables, they cannot use parts of another platform.
  for (const name of variableNames) delete process.env[name];
  const own: Config = { ...config, ...embedded, annalsData: join(dir, 'data'), host: '127.0.0.1', port };
  const running = launch(own, { report });
  const interrupted = new Promise<never>((_, reject) =>
    stopped.addEventListener('abort', () => reject(new Error('the demo was stopped')), { once: true }),
  );
  interrupted.catch(() => {});
  try {
    const { url, firstKey } = await Promise.race([running.ready, interrupted]);
    const key = firstKey()?.key;
    if (!key) throw new Error('the platform started, but reported no API key');
    return { url, key, isOwn: true, tenant: firstKey()?.tenant_id ?? null, dir, close: running.close };
  } catch (error) {
    await running.close().catch(() => {});
    // Wait for a database that is still being created: it would write files after the directory is removed.
    const settled = running.ready.then(
      () => {},
      () => {},
    );
    await Promise.race([settled, sleep(PREPARATION_TIMEOUT_MS)]);
    throw error;
  }
};

/** `on` is the URL of a running platform; without it, the demo starts one. */
export type DemoOptions = { readonly on: string | undefined; readonly report: (line: string) => void; readonly stopped: AbortSignal };

/** With `on`, ANNALS_KEY must be set. Otherwise ignores the variables of the environment; `close` removes the directory. */
export const openDemoPlatform = async (config: Config, { on, report, stopped }: DemoOptions): Promise<DemoPlatform> => {
  const dir = temporaryDir();
  const remove = (): void => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
  if (on !== undefined)
    return { url: on.replace(/\/+$/, ''), key: config.annalsKey!, isOwn: false, tenant: null, dir, close: async () => remove() };
  try {
    const platform = await startPlatform(config, dir, report, stopped);
    return { ...platform, close: () => platform.close().finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
};
