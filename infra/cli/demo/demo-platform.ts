import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { launch } from '../../processes/launch.ts';
import { freePort } from '../../supervision/ports.ts';

/** The platform that the demo uses, and the demo's temporary directory. */
export type DemoPlatform = {
  readonly url: string;
  readonly key: string;
  /** The tenant that the demo uses. If it is null, the demo uses the first tenant that the key can see. */
  readonly tenant: string | null;
  readonly dir: string;
  readonly close: () => Promise<void>;
};

const PREPARATION_TIMEOUT_MS = 5_000;
/**
 * The mode of the demo's directory: other users may pass through it. If root runs the demo, PostgreSQL runs as another
 * user and must reach its own directory inside.
 */
const PASSABLE = 0o711;

const temporaryDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-demo-'));
  chmodSync(dir, PASSABLE);
  return dir;
};

const startPlatform = async (config: Config, dir: string, report: (line: string) => void, stopped: AbortSignal): Promise<DemoPlatform> => {
  const port = await freePort();
  const embedded = { eventstoreUrl: undefined, databaseUrl: undefined, natsUrl: undefined, natsAccountSeed: undefined };
  const own: Config = { ...config, ...embedded, annalsData: join(dir, 'data'), host: '127.0.0.1', port };
  const running = launch(own, { report });
  const interrupted = new Promise<never>((_, reject) =>
    stopped.addEventListener('abort', () => reject(new Error('the demo was stopped')), { once: true }),
  );
  interrupted.catch(() => {});
  try {
    const { url, firstKey } = await Promise.race([running.ready, interrupted]);
    const key = config.annalsAdminKey ?? firstKey()?.key;
    if (!key) throw new Error('the platform started, but reported no API key');
    return { url, key, tenant: firstKey()?.tenant_id ?? null, dir, close: running.close };
  } catch (error) {
    await running.close().catch(() => {});
    // If a database is still being created, wait for it. Otherwise it would write files after the directory has been
    // removed.
    const settled = running.ready.then(
      () => {},
      () => {},
    );
    await Promise.race([settled, sleep(PREPARATION_TIMEOUT_MS)]);
    throw error;
  }
};

/**
 * Returns the platform that ANNALS_URL and ANNALS_KEY name. Without these variables, starts a platform in a temporary
 * directory. `close` removes that directory.
 */
export const openDemoPlatform = async (config: Config, report: (line: string) => void, stopped: AbortSignal): Promise<DemoPlatform> => {
  const dir = temporaryDir();
  const remove = (): void => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
  const { annalsUrl, annalsKey } = config;
  if (annalsUrl && annalsKey) return { url: annalsUrl.replace(/\/+$/, ''), key: annalsKey, tenant: null, dir, close: async () => remove() };
  try {
    const platform = await startPlatform(config, dir, report, stopped);
    return { ...platform, close: () => platform.close().finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
};
