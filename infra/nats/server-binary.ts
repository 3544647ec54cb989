import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { runHelper } from '../supervision/helper-programs.ts';
import { isOld, MIN_SAFE_VERSION } from './server-version.ts';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const ARCHIVE = 'http://deb.debian.org/debian';
const APT_MS = 60_000;
const POOL_MS = 20_000;

/** Debian's package as it was read once: SHA-256 by architecture. One small download, and it needs no apt; but its name dies with the next rebuild. */
const PINNED: Partial<Record<NodeJS.Architecture, { file: string; sha256: string }>> = {
  x64: { file: 'nats-server_2.10.27-1+b2_amd64.deb', sha256: '6d913ac987b78734c08537c2adeb1526cf735f216173a9170d94b185fcfe6f8a' },
  arm64: { file: 'nats-server_2.10.27-1+b2_arm64.deb', sha256: '0c9a617510b28c1b4fb4a38aabea6ab8cd7f026247f2abdff8b955b2278ce049' },
};

const isUsable = async (binary: string): Promise<boolean> =>
  existsSync(binary) &&
  runHelper(binary, ['--version']).then(
    (says) => !isOld(says),
    () => false,
  );

const firstUsable = async (binaries: readonly string[]): Promise<string | undefined> => {
  for (const binary of binaries) if (await isUsable(binary)) return binary;
  return undefined;
};

const installed = (): string[] =>
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

const packageCache = join(import.meta.dirname, '../../node_modules/.cache/annals');

/** Moves the server out of an unpacked package to where later starts find it. */
const keep = (unpacked: string, cached: string): void => {
  const server = ['usr/sbin', 'usr/bin'].map((dir) => join(unpacked, dir, 'nats-server')).find((path) => existsSync(path));
  if (!server) throw new Error('the package holds no nats-server');
  chmodSync(server, 0o755);
  renameSync(server, cached);
};

const packageIn = (dir: string): string => {
  const file = readdirSync(dir).find((name) => name.endsWith('.deb'));
  if (!file) throw new Error('no package came');
  return join(dir, file);
};

/** dpkg where it is, else the two tools that a .deb is made of. */
const unpack = async (file: string, to: string): Promise<void> => {
  mkdirSync(to);
  await runHelper('dpkg-deb', ['-x', file, to]).catch(async () => {
    await runHelper('ar', ['x', file, 'data.tar.xz'], { cwd: to });
    await runHelper('tar', ['-xJf', 'data.tar.xz'], { cwd: to });
  });
};

type Fetch = (work: string) => Promise<void>;

const apt = async (work: string, options: readonly string[]): Promise<void> => {
  const lists = join(work, 'lists');
  for (const dir of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(work, dir), { recursive: true });
  const own = [
    `Dir::State::lists=${lists}`,
    `Dir::Cache=${join(work, 'cache')}`,
    'Debug::NoLocking=1',
    'Acquire::Languages=none',
    'APT::Sandbox::User=root',
  ];
  const flags = [...own, ...options].flatMap((option) => ['-o', option]);
  for (const words of [['update'], ['download', 'nats-server']])
    await runHelper('apt-get', [...flags, ...words], { cwd: work, timeout: APT_MS });
};

/** From Debian's stable archive, whose signature apt checks, without touching the system's own package lists. */
const fromDebian: Fetch = async (work) => {
  if (!existsSync(KEYRING)) throw new Error('no keyring of Debian');
  const source = join(work, 'source.list');
  writeFileSync(source, `deb [signed-by=${KEYRING}] ${ARCHIVE} trixie main\n`);
  await apt(work, [`Dir::Etc::sourcelist=${source}`, 'Dir::Etc::sourceparts=/dev/null']);
};

const fromOwnSources: Fetch = (work) => apt(work, []);

const fromPool: Fetch = async (work) => {
  const pinned = PINNED[process.arch];
  if (!pinned) throw new Error(`no package for ${process.arch}`);
  const response = await fetch(`${ARCHIVE}/pool/main/n/nats-server/${pinned.file}`, { signal: AbortSignal.timeout(POOL_MS) });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (createHash('sha256').update(bytes).digest('hex') !== pinned.sha256) throw new Error('the package is not the one that was read');
  writeFileSync(join(work, pinned.file), bytes);
};

const fetched = async (fetch: Fetch, cache: string, cached: string): Promise<boolean> => {
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    await fetch(work);
    await unpack(packageIn(work), join(work, 'x'));
    if (!(await firstUsable(['usr/sbin', 'usr/bin'].map((dir) => join(work, 'x', dir, 'nats-server'))))) return false;
    keep(join(work, 'x'), cached);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

const HELP =
  `nats-server ${MIN_SAFE_VERSION} or later was not found and could not be fetched: install it (macOS: brew install nats-server; Debian 13: apt-get download nats-server; ` +
  'others: the binary from nats.io on the PATH), or set NATS_URL to use a server of your own';

/** A nats-server that may be run: kept from an earlier start, installed, or fetched without being root. @throws where there is none */
export const natsBinary = async (own: string): Promise<string> => {
  const caches = [packageCache, own];
  // What lies there was asked for its version when it came.
  const kept = caches.map((dir) => join(dir, 'nats-server')).find((file) => existsSync(file));
  const found = kept ?? (await firstUsable(installed()));
  if (found) return found;
  if (process.platform !== 'linux') throw new Error(HELP);
  const cache = caches.find(isWritable);
  if (!cache) throw new Error(HELP);
  const cached = join(cache, 'nats-server');
  for (const fetch of [fromPool, fromDebian, fromOwnSources]) if (await fetched(fetch, cache, cached)) return cached;
  throw new Error(HELP);
};
