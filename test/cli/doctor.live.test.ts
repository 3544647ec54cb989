// limit: 400
import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match, not } from 'uvu/assert';
import { type Platform, sharedPlatform } from '../faults/platform.ts';
import { eventually, mainFile, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const onPlatform = sharedPlatform();
const onOther = runningPlatform();

/** Runs a CLI command with the data directory of a platform. @returns its exit code and its output */
const runCommand = async (
  { data, url }: Pick<Platform, 'data' | 'url'>,
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<[number, string]> => {
  const running = startProgram(process.execPath, [mainFile, ...words], {
    env: { ...unconfiguredEnvironment(), ANNALS_DATA: data, ANNALS_URL: url, ...env },
  });
  return [(await running.ended) as number, running.output()];
};

const failures = (output: string): string[] => [...output.matchAll(/^FAIL +(event store|master key|\S+)/gm)].map(([, what]) => what!);

type Health = { parts: { name: string; status: string; detail: string; figures: Record<string, number> }[] };

const healthOf = async ({ call }: Platform) => (JSON.parse((await call('GET', '/admin/health')).text) as Health).parts;

/** Waits until the platform reports that all its parts work. There is no backup of it yet. */
const allPartsWork = (platform: Platform): Promise<void> =>
  eventually('all parts but the backup work', async () => {
    const broken = (await healthOf(platform)).filter(({ status }) => status !== 'ok');
    return broken.map(({ name }) => name).join() === 'backup';
  });

/** Runs the doctor until it finds no failure: on a busy machine, a service may answer too late. @returns its last result */
const whenPassed = async <R extends { readonly code: number }>(run: () => Promise<R>): Promise<R> => {
  let last: R | undefined;
  await eventually('every check passes', async () => {
    last = await run();
    return last.code === 0;
  });
  return last!;
};

test('annals doctor checks every part, and exits with 1 if the master key is not the one that encrypted the data keys in the log', () =>
  onPlatform(async (platform) => {
    await allPartsWork(platform);
    const healthy = await whenPassed(async () => {
      const [code, output] = await runCommand(platform, ['doctor']);
      return { code, output };
    });
    match(healthy.output, /^ok +NATS +version/m);
    const other = join(platform.data, 'another-platform.key');
    writeFileSync(other, randomBytes(32), { mode: 0o600 });
    // On a busy machine, a service may answer the doctor too late.
    await eventually('only the master key fails', async () => {
      const [code, wrong] = await runCommand(platform, ['doctor'], { MASTER_KEY_FILE: other });
      is(code, 1);
      match(wrong, 'is not the one that encrypted');
      return failures(wrong).join() === 'master key';
    });
  }));

test('GET /admin/health reports the parts of a running platform; soon after a process is killed, all parts are reported as ok again', () =>
  onPlatform(async (platform) => {
    await allPartsWork(platform);
    const parts = await healthOf(platform);
    for (const name of ['event store', 'Postgres', 'NATS', 'worker', 'projections', 'relay', 'spool', 'file store'])
      is(parts.find((part) => part.name === name)?.status, 'ok', name);
    is(typeof parts.find(({ name }) => name === 'event store')!.figures.stored_bytes, 'number');
    await platform.kill('nats');
    await allPartsWork(platform);
  }));

type Report = { ok: boolean; findings: { part: string; level: string; message: string; advice: string | null }[] };

const examine = async (platform: Pick<Platform, 'data' | 'url'>, env: NodeJS.ProcessEnv = {}) => {
  const [code, output] = await runCommand(platform, ['doctor', '--json'], env);
  const { ok, findings } = JSON.parse(output) as Report;
  is(ok, code === 0);
  return { code, of: (part: string) => findings.find((finding) => finding.part === part)! };
};

test('before the first start, annals doctor reports no failure, and says which parts of the platform do not exist yet', () =>
  withTempDirectory(async (dir) => {
    const [code, output] = await runCommand({ data: join(dir, 'data'), url: 'http://127.0.0.1:1' }, ['doctor']);
    is(code, 0, output);
    for (const part of ['event store', 'Postgres', 'NATS', 'worker', 'projections', 'master key', 'service'])
      match(output, new RegExp(`^--    ${part} +.* yet`, 'm'));
    not.match(output, /FAIL/);
  }));

test('annals doctor names each problem of a master key file (missing, too short, readable by others) with its own advice', () =>
  onPlatform(async (platform) => {
    const file = join(platform.data, 'other.key');
    const keyFinding = async () => (await examine(platform, { MASTER_KEY_FILE: file })).of('master key');
    // Until the event store answers, the doctor reports the missing master key only as a warning.
    await allPartsWork(platform);
    const missing = await keyFinding();
    is(missing.level, 'fail');
    match(missing.message, 'does not exist, but the log contains keys that it encrypted');
    match(missing.advice!, 'restore it from its copy');
    writeFileSync(file, 'short', { mode: 0o600 });
    chmodSync(file, 0o644);
    const short = await keyFinding();
    match(short.message, /other users can read .*; the master key .* must be 32 bytes, not 5/);
    match(short.advice!, /^chmod 600 .*; restore it from its copy/);
    const own = join(platform.data, 'master.key');
    chmodSync(own, 0o644);
    is((await examine(platform)).of('master key').advice, `chmod 600 ${own}`);
    chmodSync(own, 0o600);
  }));

test('annals doctor reports the age of the last backup, services that belong to another platform, and parts that it could not check', () =>
  onPlatform(async (platform) => {
    await allPartsWork(platform);
    const { of: healthy } = await whenPassed(() => examine(platform));
    is(healthy('backup').level, 'warn');
    match(healthy('NATS sync').message, /^every 2m; after a power failure/);
    match(healthy('clock').message, /^difference to Postgres: -?\d+ ms, the service: 0 ms$/);
    equal(
      ['projections', 'parked events', 'dead letters', 'clock', 'public URL', 'certificate'].map((part) => healthy(part).level),
      ['ok', 'ok', 'ok', 'ok', 'none', 'none'],
    );
    const target = join(platform.dir, 'backup');
    const [copied] = await runCommand(platform, ['store', 'backup', '--to', target]);
    is(copied, 0);
    const [refused, message] = await runCommand(platform, ['store', 'backup', '--to', target]);
    is(refused, 2);
    is(message, `annals: ${target} is not empty: back up into a new directory\n`);

    await onOther(async (other) => {
      const { code, of } = await examine({ data: platform.data, url: other.url });
      is(code, 1);
      match(of('service').message, `another platform answers at ${other.url}`);
      is(of('worker').level, 'ok');
      match(of('backup').message, target);
    });
    const { of } = await examine(platform, { DATABASE_URL: 'postgres://127.0.0.1:1/annals' });
    for (const part of ['worker', 'projections', 'parked events', 'dead letters', 'audit anchor', 'clock'])
      match(of(part).message, 'not checked, because Postgres does not work');
  }));

test('annals replay can filter, limit and order events by its options, follows new events, and indents with --pretty; for an unknown stream, it prints an error', () =>
  onPlatform(async (platform) => {
    const types = async (...words: string[]): Promise<string[]> => {
      const [code, output] = await runCommand(platform, ['replay', ...words]);
      is(code, 0, output);
      return output
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { type: string }).type);
    };
    const all = await types();
    equal(await types('--limit', '2'), all.slice(0, 2));
    equal((await types('--reverse', '--limit', '3')).length, 3);
    equal(await types('--type', 'PlatformStarted'), ['PlatformStarted']);
    equal(await types('platform-platform.first', '--reverse'), ['PlatformStarted']);
    const following = types('--type', 'AgentCreated', '--follow', '--limit', '1');
    const tenant = await platform.firstTenant();
    await platform.call('POST', `/tenant/${tenant.id}/agents`, { name: 'A', slug: 'a' });
    equal(await following, ['AgentCreated']);
    const [, line] = await runCommand(platform, ['replay', 'platform-platform.first']);
    const [, pretty] = await runCommand(platform, ['replay', 'platform-platform.first', '--pretty']);
    equal(JSON.parse(pretty), JSON.parse(line));
    match(pretty, /^\{\n {2}"id": "/);
    const [code, message] = await runCommand(platform, ['replay', 'nosuchstream']);
    is(code, 1);
    is(message, 'annals: the stream "nosuchstream" does not exist\n');
  }));

// Only the last test follows this one, because it leaves parked events behind.
test('annals doctor reports for each projection how many streams have parked events', () =>
  onPlatform(async (platform) => {
    const log = platform.openLog();
    const meta = { tenant: 't', actor: { kind: 'system', id: 'test' }, at: new Date().toISOString(), v: 1 } as const;
    for (const id of ['a', 'b']) await log.append(`agent-t.${id}`, 'none', [{ id: randomUUID(), type: 'AgentDeleted', data: {}, meta }]);
    await log.close();
    const isParked = async (): Promise<boolean> =>
      (await healthOf(platform)).some(({ name, detail }) => name === 'projections' && /agents: 2\b/.test(detail));
    await eventually('they are parked', isParked);
    const { of } = await examine(platform);
    equal([of('projections').level, of('parked events').level], ['fail', 'fail']);
    match(of('projections').message, /agents: 2\b/);
    match(of('parked events').message, /^not applied: agents: 2\b/);
  }));

// This test must be the last one, because it stops the platform that all tests in this file share.
test('while the platform is stopped, annals doctor names the services that are down; other commands advise the user to run annals doctor', () =>
  onPlatform(async (platform) => {
    await platform.stop();
    const [code, output] = await runCommand(platform, ['doctor']);
    is(code, 1);
    equal(failures(output), ['event store', 'Postgres', 'NATS', 'service']);
    not.match(output, /(EVENTSTORE|DATABASE|NATS)_URL|parked streams|Resolution/);
    for (const words of [['verify'], ['replay'], ['rebuild', 'agents']]) {
      const [exitCode, message] = await runCommand(platform, words);
      is(exitCode, 1);
      match(
        message,
        /^annals: the platform does not answer \(connect ECONNREFUSED [\d.:]+\): start it, or run annals doctor to find the cause\n$/,
      );
    }
  }));

test.run();
