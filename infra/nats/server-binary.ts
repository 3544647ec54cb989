import { accessSync, chmodSync, constants, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { PACKAGE_CACHE } from '../package-cache.ts';
import { runHelper } from '../supervision/helper-programs.ts';
import { downloads, unpackServer } from './server-package.ts';
import { isUnsafeVersion, MIN_SAFE_VERSION } from './server-version.ts';

const isUsable = async (binary: string): Promise<boolean> =>
  existsSync(binary) &&
  runHelper(binary, ['--version']).then(
    (output) => !isUnsafeVersion(output),
    () => false,
  );

const firstUsable = async (binaries: readonly string[]): Promise<string | undefined> => {
  for (const binary of binaries) if (await isUsable(binary)) return binary;
  return undefined;
};

const installedBinaries = (): string[] =>
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/local/bin']
    .filter(Boolean)
    .map((dir) => join(dir, 'nats-server'));

const isWritable = (dir: string): boolean => {
  try {
    mkdirSync(dir, { recursive: true });
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** Downloads nats-server and moves it to `cached`. @returns whether that succeeded and the version is usable */
const downloadTo = async (download: (dir: string) => Promise<void>, cacheDir: string, cached: string): Promise<boolean> => {
  const dir = mkdtempSync(join(cacheDir, 'fetch-'));
  try {
    await download(dir);
    const server = await firstUsable(await unpackServer(dir));
    if (!server) return false;
    chmodSync(server, 0o755);
    renameSync(server, cached);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

const NOT_FOUND =
  `nats-server ${MIN_SAFE_VERSION} or later was not found, and apt could not download it from its configured sources. Install it (macOS: ` +
  'brew install nats-server; Debian 13, Ubuntu 25.04 or later: apt-get install nats-server; others: the binary from ' +
  'https://github.com/nats-io/nats-server/releases on the PATH), or set NATS_URL to use a server of your own';

/** Reports each installed server that is too old to be used. */
const reportOldServers = (report: (line: string) => void): void => {
  for (const binary of installedBinaries().filter((file) => existsSync(file)))
    report(`${binary} is older than ${MIN_SAFE_VERSION} and not used; apt downloads a later nats-server into the cache of this checkout`);
};

/**
 * Returns a cached, installed or newly downloaded one; needs no root permissions. Cached with this package or, if that is not writable, in
 * `ownDir`.
 * @throws Error if none can be found or downloaded
 */
export const natsBinary = async (ownDir: string, report: (line: string) => void = () => {}): Promise<string> => {
  const caches = [PACKAGE_CACHE, ownDir];
  // A cached server needs no check, because its version was checked before it was cached.
  const alreadyCached = caches.map((dir) => join(dir, 'nats-server')).find((file) => existsSync(file));
  const found = alreadyCached ?? (await firstUsable(installedBinaries()));
  if (found) return found;
  reportOldServers(report);
  if (process.platform !== 'linux') throw new Error(NOT_FOUND);
  const cacheDir = caches.find(isWritable);
  if (!cacheDir) throw new Error(NOT_FOUND);
  const cached = join(cacheDir, 'nats-server');
  for (const download of downloads) if (await downloadTo(download, cacheDir, cached)) return cached;
  throw new Error(NOT_FOUND);
};
