import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match } from 'uvu/assert';
import { root, startProgram, withTempDirectory } from '../fixtures/child-process.ts';

/** A substitute for npm. It records its arguments, deletes all packages first as npm does, and provides a package that the test has prepared. */
const NPM = `
const { appendFileSync, copyFileSync, mkdirSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const words = process.argv.slice(2);
const checkout = join(__dirname, '..');
appendFileSync(join(checkout, 'calls'), words.filter((word) => /^(ci|pack|--omit=.*|--include=.*)$/.test(word)).join(' ') + '\\n');
if (words[0] === 'ci') rmSync('node_modules', { recursive: true, force: true });
if (words[0] === 'ci') mkdirSync('node_modules', { recursive: true });
if (words[0] === 'ci' && process.env.CI_CODE) process.exit(Number(process.env.CI_CODE));
if (words[0] === 'pack') copyFileSync(join(checkout, 'a-tool-1.0.0.tgz'), words[words.indexOf('--pack-destination') + 1] + '/a-tool-1.0.0.tgz');
`;

/**
 * Creates a checkout of a project. Its lock file lists three packages: a binary package for this platform, one for
 * another platform, and a package that only tests need.
 */
const checkoutOf = (dir: string, integrity?: string): void => {
  mkdirSync(join(dir, 'infra'));
  copyFileSync(join(root, 'infra/ensure.mjs'), join(dir, 'infra/ensure.mjs'));
  mkdirSync(join(dir, 'npm'));
  writeFileSync(join(dir, 'npm/npm-cli.js'), NPM);
  mkdirSync(join(dir, 'package/bin'), { recursive: true });
  writeFileSync(join(dir, 'package/package.json'), '{"name":"a-tool","version":"1.0.0","bin":{"tool":"bin/tool"}}');
  writeFileSync(join(dir, 'package/bin/tool'), '#!/bin/sh\necho works\n');
  execFileSync('tar', ['-czf', 'a-tool-1.0.0.tgz', 'package'], { cwd: dir });
  const digest = createHash('sha512')
    .update(readFileSync(join(dir, 'a-tool-1.0.0.tgz')))
    .digest('base64');
  const binary = { version: '1.0.0', integrity: integrity ?? `sha512-${digest}`, optional: true, cpu: [process.arch] };
  const packages = {
    'node_modules/a-tool': { ...binary, os: [process.platform] },
    'node_modules/a-tool-elsewhere': { ...binary, os: ['aix'] },
    'node_modules/for-tests': { ...binary, dev: true },
  };
  writeFileSync(join(dir, 'package-lock.json'), JSON.stringify({ packages }));
};

const ensure = async (dir: string, purpose: string, env: NodeJS.ProcessEnv = {}) => {
  const npm = { npm_execpath: join(dir, 'npm/npm-cli.js'), npm_node_execpath: process.execPath };
  const run = startProgram(process.execPath, ['infra/ensure.mjs', purpose], { cwd: dir, env: { ...process.env, ...npm, ...env } });
  const code = await run.ended;
  const calls = existsSync(join(dir, 'calls')) ? readFileSync(join(dir, 'calls'), 'utf8').trim().split('\n').sort() : [];
  return { code, calls, output: run.output(), left: readdirSync(dir).filter((name) => name.startsWith('.packages-')) };
};

test('the first start installs packages and binaries in parallel; the next start installs nothing', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir);
    mkdirSync(join(dir, '.packages-broken-off/node_modules'), { recursive: true });
    const first = await ensure(dir, 'start');
    equal([first.code, first.calls, first.left], [0, ['ci --omit=dev --omit=optional', 'pack'], []], first.output);
    is(execFileSync(join(dir, 'node_modules/.bin/tool'), { encoding: 'utf8' }), 'works\n');
    is(existsSync(join(dir, 'node_modules/a-tool-elsewhere')), false);
    equal((await ensure(dir, 'start')).calls, first.calls);
  }));

test('a downloaded binary whose digest differs from that in the lock file is discarded, and npm installs all packages instead', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir, `sha512-${Buffer.alloc(64).toString('base64')}`);
    const { code, calls, left } = await ensure(dir, 'start');
    equal([code, calls, left], [0, ['ci --omit=dev', 'ci --omit=dev --omit=optional', 'pack'], []]);
    is(existsSync(join(dir, 'node_modules/a-tool')), false);
  }));

test('a failed installation is reported in one line, and the next start tries to install again', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir);
    const { code, output, left } = await ensure(dir, 'start', { CI_CODE: '7' });
    equal([code, left], [1, []]);
    match(output, /annals: npm ci ended with code 7/);
    is((await ensure(dir, 'start')).code, 0);
  }));

test('before tests, npm installs all packages, including those for development', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir);
    const { code, calls } = await ensure(dir, 'test');
    equal([code, calls], [0, ['ci --include=dev']]);
  }));

/** Puts packages of an earlier version into the checkout: one package, and a cache. */
const installEarlier = (dir: string): void => {
  for (const name of ['earlier', '.cache']) mkdirSync(join(dir, 'node_modules', name), { recursive: true });
  for (const name of ['earlier/index.js', '.cache/server']) writeFileSync(join(dir, 'node_modules', name), '');
};

const isInstalled = (dir: string, file: string): boolean => existsSync(join(dir, 'node_modules', file));

for (const purpose of ['start', 'test'])
  test(`a failed installation for ${purpose} leaves the packages as they were`, () =>
    withTempDirectory(async (dir) => {
      checkoutOf(dir);
      installEarlier(dir);
      const { code, left } = await ensure(dir, purpose, { CI_CODE: '7' });
      equal([code, left, isInstalled(dir, 'earlier/index.js')], [1, [], true]);
    }));

for (const purpose of ['start', 'test'])
  test(`an installation for ${purpose} replaces all packages, but not the cache`, () =>
    withTempDirectory(async (dir) => {
      checkoutOf(dir);
      installEarlier(dir);
      const { code, left, output } = await ensure(dir, purpose);
      equal([code, left, isInstalled(dir, 'earlier'), isInstalled(dir, '.cache/server')], [0, [], false, true], output);
    }));

test('packages that somebody has installed with npm ci are not installed again, unless they are those of another lock file', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir);
    const lock = JSON.parse(readFileSync(join(dir, 'package-lock.json'), 'utf8')) as { packages: Record<string, { integrity?: string }> };
    for (const name of ['a-tool', 'for-tests']) mkdirSync(join(dir, 'node_modules', name), { recursive: true });
    const record = (): void => writeFileSync(join(dir, 'node_modules/.package-lock.json'), JSON.stringify(lock));
    record();
    for (const purpose of ['start', 'test']) equal(await ensure(dir, purpose), { code: 0, calls: [], output: '', left: [] });
    lock.packages['node_modules/a-tool']!.integrity = 'sha512-another';
    record();
    equal((await ensure(dir, 'start')).calls, ['ci --omit=dev --omit=optional', 'pack']);
  }));

test('no package is deleted while a program runs from the packages; the message names the process', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir);
    installEarlier(dir);
    const program = join(dir, 'node_modules/earlier/sleep');
    copyFileSync('/bin/sleep', program);
    const running = startProgram(program, ['60']);
    for (const purpose of ['start', 'test']) {
      const { code, calls, output } = await ensure(dir, purpose);
      equal([code, calls, isInstalled(dir, 'earlier/index.js')], [1, [], true]);
      match(output, new RegExp(`process ${running.child.pid} \\(\\S+sleep 60\\) still runs .* stop it first, or use a clone`));
    }
    await running.stop();
    is((await ensure(dir, 'start')).code, 0);
  }));

test.run();
