import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { launch } from '../../processes/launch.ts';
import { freePort } from '../../supervision/ports.ts';

/** The service that the demo speaks to, and a directory of its own. */
export type Place = {
  readonly url: string;
  readonly key: string;
  /** The tenant to play in; null: the one that the key sees first. */
  readonly tenant: string | null;
  readonly dir: string;
  readonly close: () => Promise<void>;
};

const PREPARING_MS = 5_000;
/** PostgreSQL, which is never root, passes through a directory of root's. */
const OPEN_TO_PASS = 0o711;

const temporaryDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-demo-'));
  chmodSync(dir, OPEN_TO_PASS);
  return dir;
};

const started = async (config: Config, dir: string, say: (line: string) => void, left: AbortSignal): Promise<Place> => {
  const port = await freePort();
  const embedded = { eventstoreUrl: undefined, databaseUrl: undefined, natsUrl: undefined, natsAccountSeed: undefined };
  const own: Config = { ...config, ...embedded, annalsData: join(dir, 'data'), host: '127.0.0.1', port };
  const running = launch(own, { report: say });
  const leaving = new Promise<never>((_, reject) =>
    left.addEventListener('abort', () => reject(new Error('told to stop')), { once: true }),
  );
  leaving.catch(() => {});
  try {
    const { url, firstKey } = await Promise.race([running.ready, leaving]);
    const key = config.annalsAdminKey ?? firstKey()?.key;
    if (!key) throw new Error('the service was started but told no key');
    return { url, key, tenant: firstKey()?.tenant_id ?? null, dir, close: running.close };
  } catch (error) {
    await running.close().catch(() => {});
    // A database that is just being made is finished first: it would write on after everything is removed.
    const settled = running.ready.then(
      () => {},
      () => {},
    );
    await Promise.race([settled, sleep(PREPARING_MS)]);
    throw error;
  }
};

/** The service of ANNALS_URL and ANNALS_KEY, or one that is started for the occasion and leaves nothing behind. */
export const openPlace = async (config: Config, say: (line: string) => void, left: AbortSignal): Promise<Place> => {
  const dir = temporaryDir();
  const remove = (): void => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
  const { annalsUrl, annalsKey } = config;
  if (annalsUrl && annalsKey) return { url: annalsUrl.replace(/\/+$/, ''), key: annalsKey, tenant: null, dir, close: async () => remove() };
  try {
    const place = await started(config, dir, say, left);
    return { ...place, close: () => place.close().finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
};
