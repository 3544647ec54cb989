import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHelper } from '../supervision/helper-programs.ts';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const APT_HELPER = '/usr/lib/apt/apt-helper';
const APT_TIMEOUT_MS = 60_000;
const DOWNLOAD_TIMEOUT_MS = 20_000;
/** Matches the lines of apt's list of sources that belong to an archive of Debian, which is recognised by its suite. */
const DEBIAN_RELEASE = /^'(\S+)\/dists\/(?:bullseye|bookworm|trixie|forky|sid|oldstable|stable|testing|unstable)\/InRelease'/gm;

/**
 * Debian packages of nats-server with their SHA-256, for each architecture. They are tried first, because they are one
 * small download. When Debian rebuilds the package, it deletes the old file. Then this download fails, and the other
 * sources are used.
 */
const PINNED: Partial<Record<NodeJS.Architecture, { file: string; sha256: string }>> = {
  x64: { file: 'nats-server_2.10.27-1+b2_amd64.deb', sha256: '6d913ac987b78734c08537c2adeb1526cf735f216173a9170d94b185fcfe6f8a' },
  arm64: { file: 'nats-server_2.10.27-1+b2_arm64.deb', sha256: '0c9a617510b28c1b4fb4a38aabea6ab8cd7f026247f2abdff8b955b2278ce049' },
};

/** @throws Error if the download fails */
type Download = (dir: string) => Promise<void>;

/** apt then needs no root permissions, and changes nothing on the system. */
const ownDirectories = (dir: string): string[] => {
  for (const subdirectory of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(dir, subdirectory), { recursive: true });
  const options = [
    `Dir::State::lists=${join(dir, 'lists')}`,
    `Dir::Cache=${join(dir, 'cache')}`,
    'Debug::NoLocking=1',
    'Acquire::Languages=none',
    'APT::Sandbox::User=root',
  ];
  return options.flatMap((option) => ['-o', option]);
};

/** Reads the configuration of apt, without network access. @throws Error if there is no apt */
const debianArchives = async (dir: string): Promise<string[]> => {
  const uris = await runHelper('apt-get', [...ownDirectories(dir), '--print-uris', 'update'], { timeout: APT_TIMEOUT_MS });
  return [...new Set([...uris.matchAll(DEBIAN_RELEASE)].map(([, archive]) => archive!))];
};

/** Returns a function that runs `download` with each configured archive until one works. @throws the last failure */
const fromEachArchive =
  (download: (dir: string, archive: string) => Promise<void>): Download =>
  async (dir) => {
    let failure = new Error('apt is not configured to use an archive of Debian');
    for (const archive of await debianArchives(dir)) {
      try {
        return await download(dir, archive);
      } catch (error) {
        failure = error as Error;
      }
    }
    throw failure;
  };

/** Downloads the pinned package with apt's own program, which uses apt's proxy and checks the digest. */
const downloadPinned = fromEachArchive(async (dir, archive) => {
  const pinned = PINNED[process.arch];
  if (!pinned) throw new Error(`no pinned nats-server package for ${process.arch}`);
  const url = `${archive}/pool/main/n/nats-server/${pinned.file}`;
  const options = { timeout: DOWNLOAD_TIMEOUT_MS };
  await runHelper(
    APT_HELPER,
    ['-o', 'APT::Sandbox::User=root', 'download-file', url, join(dir, pinned.file), `SHA256:${pinned.sha256}`],
    options,
  );
});

const downloadWithApt = async (dir: string, options: readonly string[]): Promise<void> => {
  const flags = [...ownDirectories(dir), ...options.flatMap((option) => ['-o', option])];
  for (const command of [['update'], ['download', 'nats-server']])
    await runHelper('apt-get', [...flags, ...command], { cwd: dir, timeout: APT_TIMEOUT_MS });
};

/** Uses Debian 13, even on an older Debian. apt checks the archive's signature. */
const downloadFromDebian = fromEachArchive(async (dir, archive) => {
  if (!existsSync(KEYRING)) throw new Error(`the keyring of Debian is missing: ${KEYRING}`);
  const source = join(dir, 'source.list');
  writeFileSync(source, `deb [signed-by=${KEYRING}] ${archive} trixie main\n`);
  await downloadWithApt(dir, [`Dir::Etc::sourcelist=${source}`, 'Dir::Etc::sourceparts=/dev/null']);
});

const downloadFromSystemSources: Download = (dir) => downloadWithApt(dir, []);

/** The sources of nats-server, in the order in which they are tried. All of them use apt's configuration. */
export const downloads: readonly Download[] = [downloadPinned, downloadFromDebian, downloadFromSystemSources];

const packageIn = (dir: string): string => {
  const file = readdirSync(dir).find((name) => name.endsWith('.deb'));
  if (!file) throw new Error('the download contains no .deb package');
  return join(dir, file);
};

/** Uses dpkg-deb or else ar and tar. Returns the paths at which nats-server may be. */
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
