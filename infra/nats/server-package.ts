import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHelper } from '../supervision/helper-programs.ts';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const ARCHIVE = 'http://deb.debian.org/debian';
const APT_TIMEOUT_MS = 60_000;
const DOWNLOAD_TIMEOUT_MS = 20_000;

/**
 * Debian packages of nats-server with their SHA-256, by architecture. They are tried first, because they are one small
 * download and need no apt. When Debian rebuilds the package, it deletes the old file. From then on, this download
 * fails and the other sources are used.
 */
const PINNED: Partial<Record<NodeJS.Architecture, { file: string; sha256: string }>> = {
  x64: { file: 'nats-server_2.10.27-1+b2_amd64.deb', sha256: '6d913ac987b78734c08537c2adeb1526cf735f216173a9170d94b185fcfe6f8a' },
  arm64: { file: 'nats-server_2.10.27-1+b2_arm64.deb', sha256: '0c9a617510b28c1b4fb4a38aabea6ab8cd7f026247f2abdff8b955b2278ce049' },
};

/** Downloads a Debian package of nats-server into a directory. @throws if the download fails */
type Download = (dir: string) => Promise<void>;

const downloadPinned: Download = async (dir) => {
  const pinned = PINNED[process.arch];
  if (!pinned) throw new Error(`no pinned nats-server package for ${process.arch}`);
  const response = await fetch(`${ARCHIVE}/pool/main/n/nats-server/${pinned.file}`, { signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (createHash('sha256').update(bytes).digest('hex') !== pinned.sha256)
    throw new Error('the package has another digest than the pinned one');
  writeFileSync(join(dir, pinned.file), bytes);
};

/**
 * Downloads the package with apt, which uses package lists and a cache in `dir`. This needs no root permissions and
 * changes nothing on the system.
 */
const downloadWithApt = async (dir: string, options: readonly string[]): Promise<void> => {
  const lists = join(dir, 'lists');
  for (const subdirectory of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(dir, subdirectory), { recursive: true });
  const ownOptions = [
    `Dir::State::lists=${lists}`,
    `Dir::Cache=${join(dir, 'cache')}`,
    'Debug::NoLocking=1',
    'Acquire::Languages=none',
    'APT::Sandbox::User=root',
  ];
  const flags = [...ownOptions, ...options].flatMap((option) => ['-o', option]);
  for (const command of [['update'], ['download', 'nats-server']])
    await runHelper('apt-get', [...flags, ...command], { cwd: dir, timeout: APT_TIMEOUT_MS });
};

/** Downloads from Debian's stable archive. apt checks the archive's signature. */
const downloadFromDebian: Download = async (dir) => {
  if (!existsSync(KEYRING)) throw new Error(`the keyring of Debian is missing: ${KEYRING}`);
  const source = join(dir, 'source.list');
  writeFileSync(source, `deb [signed-by=${KEYRING}] ${ARCHIVE} trixie main\n`);
  await downloadWithApt(dir, [`Dir::Etc::sourcelist=${source}`, 'Dir::Etc::sourceparts=/dev/null']);
};

const downloadFromSystemSources: Download = (dir) => downloadWithApt(dir, []);

/** The sources of the package, in the order in which they are tried. */
export const downloads: readonly Download[] = [downloadPinned, downloadFromDebian, downloadFromSystemSources];

const packageIn = (dir: string): string => {
  const file = readdirSync(dir).find((name) => name.endsWith('.deb'));
  if (!file) throw new Error('the download contains no .deb package');
  return join(dir, file);
};

/**
 * Unpacks the downloaded package, with dpkg-deb if there is one, otherwise with ar and tar.
 * @returns the paths at which nats-server may be
 */
export const unpackServer = async (dir: string): Promise<string[]> => {
  const target = join(dir, 'x');
  const file = packageIn(dir);
  mkdirSync(target);
  await runHelper('dpkg-deb', ['-x', file, target]).catch(async () => {
    await runHelper('ar', ['x', file, 'data.tar.xz'], { cwd: target });
    await runHelper('tar', ['-xJf', 'data.tar.xz'], { cwd: target });
  });
  return ['usr/sbin', 'usr/bin'].map((folder) => join(target, folder, 'nats-server'));
};
