// limit: 300 s for this file (test/run.ts)
import { execFile, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import { equal, is, match, ok } from 'uvu/assert';
import { linkPackages } from '../../infra/processes/link-packages.ts';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { root, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';
import { blocksOf, exampleOf } from '../fixtures/documents.ts';
import { repeatIfBusy } from '../fixtures/load-factor.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const MAX_CLIENT_BYTES = 5 * 1024 * 1024;
const MAX_CHECK_SECONDS = 3;
/** What npm would otherwise ask the registry for is in its cache after `npm ci`. */
const INSTALL = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

const { dir: packed } = createTempDirectory();
const { dir: project } = createTempDirectory();

const run = promisify(execFile);
await run(process.execPath, [join(root, 'infra/packages/pack.ts'), packed]);
const tarball = (name: RegExp): string => join(packed, readdirSync(packed).find((file) => name.test(file))!);
const [platformTarball, clientTarball] = [tarball(/^annals-\d/), tarball(/^annals-client-\d/)];

writeFileSync(join(project, 'package.json'), '{"type": "module"}');
await run('npm', [...INSTALL, '--offline', clientTarball], { cwd: project });

test('the installed client takes at most 5 MB and needs no other package', () => {
  equal(
    readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['annals-client'],
  );
  const files = globSync('node_modules/annals-client/**/*', { cwd: project }).map((file) => statSync(join(project, file)));
  const bytes = files.reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
  ok(bytes > 100_000 && bytes <= MAX_CLIENT_BYTES, `${bytes}`);
});

const MODES = { nodenext: { module: 'nodenext' }, bundler: { module: 'esnext', moduleResolution: 'bundler' } } as const;

/** Runs a compiler with the documented settings. @returns its messages and its processor time in seconds */
const compile = (compiler: string, mode: keyof typeof MODES, files: readonly string[], more: object = {}) => {
  const { compilerOptions } = JSON.parse(exampleOf('json', 'compilerOptions')) as { compilerOptions: object };
  const settings = { compilerOptions: { ...compilerOptions, ...MODES[mode], ...more }, files };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(settings));
  // The last line that the shell prints has the times of its children: user and system.
  const command = [process.execPath, join(root, 'node_modules', compiler, 'bin/tsc'), '--project', project];
  const { stdout } = spawnSync('bash', ['-c', '"$@"; times', 'bash', ...command], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  const lines = stdout.trimEnd().split('\n');
  const times = [...lines.at(-1)!.matchAll(/(\d+)m([\d.]+)s/g)].map(([, minutes, seconds]) => 60 * Number(minutes) + Number(seconds));
  return { errors: lines.slice(0, -2), seconds: times.reduce((sum, time) => sum + time, 0) };
};

copyFileSync(join(root, 'test/fixtures/client-program.ts'), join(project, 'program.ts'));
writeFileSync(join(project, 'example.ts'), exampleOf('ts', 'updateAgent'));
writeFileSync(join(project, 'memory.ts'), exampleOf('ts', 'getSkillPackage'));
writeFileSync(join(project, 'runner.ts'), exampleOf('ts', 'runner.startSession'));
writeFileSync(join(project, 'agent.ts'), exampleOf('ts', 'scripts/count.sh'));
const PROGRAMS = ['program.ts', 'example.ts', 'memory.ts', 'runner.ts', 'agent.ts'];

test('with the documented tsconfig, a program and the documented examples compile, but calls with mistakes do not', () => {
  symlinkSync(join(root, 'node_modules/@types'), join(project, 'node_modules/@types'));
  for (const [compiler, mode] of [
    ['typescript', 'bundler'],
    ['typescript-5', 'nodenext'],
  ] as const)
    equal(compile(compiler, mode, PROGRAMS).errors, [], `${compiler}, ${mode}`);
  // The next test compiles with typescript-5 and the mode bundler.
  equal(compile('typescript', 'nodenext', ['example.ts']).errors, [], 'typescript, nodenext');
});

test('the types of the client take at most 3 s of processor time to check', () =>
  repeatIfBusy(async () => {
    writeFileSync(join(project, 'empty.ts'), 'export {};\n');
    const withoutNode = { types: [], lib: ['esnext', 'dom'] };
    const [without, used] = ['empty.ts', 'example.ts'].map((file) => compile('typescript-5', 'bundler', [file], withoutNode));
    equal(used!.errors, [], 'typescript-5, bundler');
    ok(used!.seconds - without!.seconds <= MAX_CHECK_SECONDS, `${used!.seconds} s instead of ${without!.seconds} s`);
  }));

/**
 * Links the packages of this checkout into a directory, so that npm need not unpack their 400 MB there. npm still
 * chooses the packages by what the package annals declares: it keeps those that fit, and removes and adds others.
 */
const linkInstalled = (dir: string): void => {
  const modules = join(dir, 'node_modules');
  linkPackages(root, dir);
  // Without hard links, it is a link to the packages of this checkout, which npm must not change.
  if (lstatSync(modules).isSymbolicLink()) rmSync(modules);
  // npm would unpack a package again whose commands are missing.
  else cpSync(join(root, 'node_modules/.bin'), join(modules, '.bin'), { recursive: true, verbatimSymlinks: true });
};

test('npx annals start in an empty folder runs the platform, and the client acknowledges a signed delivery', () =>
  withTempDirectory(async (dir) => {
    const cached = join(root, 'node_modules/.cache/annals');
    const binaries = [...(existsSync(join(cached, 'nats-server')) ? [cached] : []), join(root, 'node_modules/.bin'), process.env.PATH];
    const env: NodeJS.ProcessEnv = {
      ...unconfiguredEnvironment(),
      PATH: binaries.join(delimiter),
      PORT: String(await freePort()),
      NO_COLOR: '1',
    };
    delete env.NODE_COMPILE_CACHE;
    linkInstalled(dir);
    await run('npm', [...INSTALL, platformTarball], { cwd: dir, env });
    is(existsSync(join(dir, 'node_modules/esbuild')), false, 'npm has removed what the package does not declare');
    const [, start] = blocksOf('The platform')[0]!.trim().split('\n');
    is(start, 'npx annals start');
    const platform = startProgram('npx', ['annals', 'start'], { cwd: dir, env });
    await platform.waitForOutput(/^ready http/m);
    ok(existsSync(join(dir, '.annals/master.key')));
    const variables = Object.fromEntries(
      [...platform.output().matchAll(/export (ANNALS_\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]),
    );
    const client = async (words: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<string> =>
      (await run(join(project, 'node_modules/.bin/annals-client'), words, { cwd: project, env: { ...env, ...variables, ...more } })).stdout;
    const api = async (...words: readonly string[]): Promise<{ id: string; key: string; tenants: { id: string }[] }> =>
      JSON.parse(await client(['api', ...words]));
    const tenant = ['--tenant-id', (await api('readMe')).tenants[0]!.id];
    const { id: agent } = await api('createAgent', ...tenant, '--name', 'Reader', '--slug', 'reader');
    const connected = ['--provider', 'github', '--agent-id', agent, '--label', 'First'];
    const { id: integration } = await api('connectWebhookIntegration', ...tenant, ...connected);
    match(await client(['trigger', 'github.push', '--integration', integration]), /^accepted c\w+$/m);
    const { key } = await api('createRunnerKey', ...tenant, '--agent-id', agent, '--name', 'First');
    const received = await client(['runner', '--agent', 'reader', '--exec', 'cat; echo', '--once'], { ANNALS_KEY: key });
    match(received, /"specversion":"1\.0".*"providerevent":"push"/);
    const { stdout: login } = await run('npx', ['annals-client', 'login'], { cwd: project, env: { ...env, ...variables } });
    match(login, /^http:\/\/127\.0\.0\.1:\d+\/console\n.*signs you in as admin@annals\.localhost/);
    match((await run(join(dir, 'node_modules/.bin/annals'), ['login'], { cwd: dir, env })).stdout, /\/console\/in#/);
    const page = await fetch(`${variables.ANNALS_URL}/docs/scalar.js`);
    is(page.status, 200);
    match(await (await fetch(`${variables.ANNALS_URL}/guides/tour`)).text(), /<h1[^>]*>A five-minute tour/);
    process.kill(readPidFile(join(dir, '.annals/annals.pid'))!.pid, 'SIGTERM');
    is(await platform.ended, 0, platform.output());
  }));

test('both packages have the version of the platform and the changelog', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  mkdirSync(join(packed, 'annals'));
  spawnSync('tar', ['-xzf', platformTarball, '-C', join(packed, 'annals')]);
  for (const dir of [join(packed, 'annals/package'), join(project, 'node_modules/annals-client')]) {
    is((JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as { version: string }).version, version);
    is(/^## (.*)$/m.exec(readFileSync(join(dir, 'CHANGELOG.md'), 'utf8'))![1], version);
  }
});

test.run();
