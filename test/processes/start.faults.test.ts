// limit: 600
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import { equal, is, match, not, ok } from 'uvu/assert';
import { startTimeOf } from '../../infra/supervision/os-process.ts';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { sharedByTests } from '../faults/platform.ts';
import {
  eventually,
  mainFile,
  type Program,
  pidsWith,
  startProgram,
  unconfiguredEnvironment,
  withTempDirectory,
} from '../fixtures/child-process.ts';
import { startNatsServer } from '../fixtures/nats-server.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const PROCESSES = ['nats', 'postgres', 'serve', 'store', 'work'];

type Started = { program: Program; base: string; data: string; port: number };

const begin = (data: string, port: number, more: NodeJS.ProcessEnv = {}): Program =>
  startProgram(process.execPath, ['infra/main.ts', 'start'], {
    env: { ...unconfiguredEnvironment(), ANNALS_DATA: data, PORT: String(port), LOG_LEVEL: 'warn', ...more },
  });

const start = async (data: string, port?: number, more?: NodeJS.ProcessEnv): Promise<Started> => {
  const at = port ?? (await freePort());
  const running = begin(data, at, more);
  const base = `http://127.0.0.1:${at}`;
  await running.waitForOutput(new RegExp(`^ready ${base}$`, 'm'));
  return { program: running, base, data, port: at };
};

const statusOf = (base: string, path: string): Promise<number | undefined> =>
  fetch(`${base}${path}`).then(
    ({ status }) => status,
    () => undefined,
  );

/** Creates an API key with the command for it. */
const newKey = (): string => execFileSync(process.execPath, [mainFile, 'keys', 'new'], { encoding: 'utf8' }).trim();

/** A well-formed API key that the shared platform does not know. */
const UNKNOWN_KEY = newKey();

/** Returns the status of a request with an API key, as soon as the read models are available. */
const statusFor = async (base: string, key: string): Promise<number> => {
  let status = 503;
  await eventually('the platform answers', async () => {
    ({ status } = await fetch(`${base}/admin/tenants`, { headers: { authorization: `Bearer ${key}` } }));
    return status !== 503;
  });
  return status;
};

const degradedOf = (base: string): Promise<string[]> =>
  fetch(`${base}/readyz`).then(
    async (answer) => ((await answer.json()) as { degraded: string[] }).degraded,
    () => ['all'],
  );

const pidOf = (data: string, name: string): number | undefined => readPidFile(join(data, 'run', `${name}.pid`))?.pid;
const pidsOf = (data: string): number[] => PROCESSES.flatMap((name) => pidOf(data, name) ?? []);
const portsOf = (data: string): Record<string, number> => JSON.parse(readFileSync(join(data, 'state.json'), 'utf8')).ports;
const linesOf = (running: Program): string[] => running.output().trim().split('\n');

/**
 * Asserts that no process of the platform is running: none of the process ids in `seen`, and no process with the data
 * directory in its command line.
 */
const nothingLeft = (data: string, seen: readonly number[]): void => {
  equal(
    seen.filter((pid) => startTimeOf(pid) !== undefined),
    [],
  );
  equal(pidsWith(data), []);
};

const stops = async (started: Started, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
  const seen = pidsOf(started.data);
  is(await started.program.stop(signal), 0);
  nothingLeft(started.data, seen);
};

/** The platform that the tests share, and the start that was refused because this platform started at the same time. */
type Shared = Started & { readonly refused: Program; readonly dir: string };

/** Starts a platform twice at the same time, in a new data directory whose file of ports is truncated, as on a full disk. */
const startTwice = async (dir: string): Promise<Shared> => {
  const data = join(dir, "operator's data");
  mkdirSync(data, { mode: 0o711 });
  writeFileSync(join(data, 'state.json'), '', { mode: 0o600 });
  const ports = [await freePort(), await freePort()];
  const both = ports.map((port) => begin(data, port, { LOG_LEVEL: 'info' }));
  is(await Promise.race(both.map((each) => each.ended)), 1);
  const winner = both.findIndex(({ child }) => child.exitCode === null);
  const [program, port] = [both[winner]!, ports[winner]!];
  const base = `http://127.0.0.1:${port}`;
  await program.waitForOutput(new RegExp(`^ready ${base}$`, 'm'));
  return { program, base, data, port, refused: both[1 - winner]!, dir };
};

/**
 * Runs a test with a platform that the tests share, so the test must leave the platform usable. The test can create
 * more data directories in `dir`.
 */
const onStarted = sharedByTests<Shared>((use) => withTempDirectory(async (dir) => use(await startTwice(dir))));

test('of two starts at once with a truncated file of ports, one serves, and the other exits', () =>
  onStarted(async ({ base, refused }) => {
    is(await statusOf(base, '/readyz'), 200);
    is(refused.child.exitCode, 1);
    match(refused.output(), /^annals: annals already runs on /);
  }));

test('annals start starts all processes and shows the first API key', () =>
  onStarted(async ({ program, base, data }) => {
    is(await statusOf(base, '/readyz'), 200);
    const psql = /^ {2}postgres +psql "(\$\(cat .*\))"$/m.exec(program.output())![1];
    is(
      execFileSync('/bin/sh', ['-c', `echo "${psql}"`], { encoding: 'utf8' }).trim(),
      readFileSync(join(data, 'postgres/url'), 'utf8').trim(),
    );
    match(program.output(), /^ {2}API key \(shown once\): ann_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/m);
    // The key must be printed before the platform is ready. If the platform is stopped in between, no later start
    // prints the key, so it would be lost.
    ok(program.output().indexOf('API key') < program.output().indexOf('Annals serves'));
    const [, key] = /API key .*: (\S+)$/m.exec(program.output())!;
    equal(linesOf(program).slice(-3), [`    export ANNALS_URL=${base}`, `    export ANNALS_KEY=${key}`, `ready ${base}`]);
    match(program.output(), `${base}/console; annals login prints a link`);
    // Only a start on a terminal prints a link: test/processes/start-link.live.test.ts.
    not.match(program.output(), /console\/in/);
    const logs = globSync(join(data, 'logs', '*')).map((file) => readFileSync(file, 'utf8'));
    match(logs.join('\n'), /"listening"/);
    not.match(logs.join('\n'), /console\/in#/);
    equal(
      PROCESSES.filter((name) => pidOf(data, name) === undefined),
      [],
    );
  }));

test('files with secrets can be read only by their owner, and the only secret that is printed is the first key', () =>
  onStarted(async (started) => {
    const at = (name: string): string => join(started.data, name);
    for (const name of [
      'state.json',
      'master.key',
      'store/secret',
      'postgres/password',
      'postgres/url',
      'nats/keys.json',
      'nats/annals.creds',
    ])
      is(statSync(at(name)).mode & 0o077, 0, `${name} is open`);
    for (const name of ['logs', 'run', 'store', 'nats']) is(statSync(at(name)).mode & 0o077, 0, `${name} is open`);
    const { output } = started.program;
    for (const name of ['store/secret', 'postgres/password']) not.ok(output().includes(readFileSync(at(name), 'utf8').trim()));
    not.match(output(), /postgres:\/\/|SA[A-Z2-7]{56}/);
  }));

test('if the data directory or port is in use, a start prints one line with the reason and exits', () =>
  onStarted(async (started) => {
    const second = begin(started.data, await freePort());
    is(await second.ended, 1);
    equal(linesOf(second), [`annals: annals already runs on ${started.data} (process ${started.program.child.pid})`]);
    is(await statusOf(started.base, '/readyz'), 200);
    const other = begin(join(started.dir, 'other'), started.port);
    is(await other.ended, 1);
    equal(linesOf(other), [`annals: PORT ${started.port} on 127.0.0.1 is taken; set PORT to another one`]);
    nothingLeft(join(started.dir, 'other'), []);
  }));

test('a child process that is killed is started again and keeps its port', () =>
  onStarted(async (started) => {
    const ports = portsOf(started.data);
    for (const name of PROCESSES) {
      const before = pidOf(started.data, name)!;
      process.kill(before, 'SIGKILL');
      await eventually(`${name} is back`, () => ![undefined, before].includes(pidOf(started.data, name)));
      await eventually(`ready after ${name}`, async () => (await statusOf(started.base, '/readyz')) === 200);
      await started.program.waitForOutput(
        new RegExp(`^annals: ${name} ended \\(signal SIGKILL\\) and is started again; its log is .*${name}\\.log$`, 'm'),
      );
    }
    equal(portsOf(started.data), ports);
  }));

test('if the supervisor was killed, the next start ends the processes that are still running, and starts new ones', () =>
  onStarted(async (started) => {
    const left = pidsOf(started.data);
    is(left.length, PROCESSES.length);
    await started.program.stop('SIGKILL');
    started.program = (await start(started.data, started.port, { ANNALS_ADMIN_KEY: UNKNOWN_KEY })).program;
    equal(
      left.filter((pid) => startTimeOf(pid) !== undefined),
      [],
    );
    for (const [mark, name] of [
      [join(started.data, 'nats/nats.conf'), 'nats'],
      [`serve --dir ${join(started.data, 'store')}`, 'store'],
    ] as const)
      equal(pidsWith(mark), [pidOf(started.data, name)]);
  }));

// This test comes after the one that kills the supervisor, because it looks at what the start after that one has printed.
test('a later start shows no API key, and says if ANNALS_ADMIN_KEY does not work', () =>
  onStarted(async (started) => {
    const { output } = started.program;
    not.match(output(), /API key|export|next/);
    match(output(), /^annals: ANNALS_ADMIN_KEY does not work: the platform does not know it; .*annals keys create --super-admin$/m);
    match(output(), `${started.base}/console; annals login prints a link`);
    not.match(output(), UNKNOWN_KEY);
    is(await statusFor(started.base, UNKNOWN_KEY), 401);
  }));

test('a child process is started again even if the directories for logs and pid files were removed', () =>
  onStarted(async (started) => {
    const killed = pidOf(started.data, 'postgres')!;
    for (const name of ['logs', 'run']) rmSync(join(started.data, name), { recursive: true });
    process.kill(killed, 'SIGKILL');
    await eventually('postgres is back', () => pidOf(started.data, 'postgres') !== undefined);
    await eventually('nothing is degraded', async () => (await degradedOf(started.base)).length === 0);
    is(started.program.child.exitCode, null);
  }));

// This test must be the last one that uses the shared platform, because it stops the platform and checks that all
// processes of it end.
test('annals start stops all processes on the two SIGINTs that Ctrl-C sends: one from the terminal, one from npm', () =>
  onStarted(async (started) => {
    started.program.child.kill('SIGINT');
    await sleep(50);
    await stops(started, 'SIGINT');
  }));

test('a signal during the start stops all processes that were already started', () =>
  withTempDirectory(async (dir) => {
    const data = join(dir, 'data');
    const running = begin(data, await freePort());
    await eventually('something runs', () => pidsOf(data).length > 0);
    const seen = pidsOf(data);
    is(await running.stop(), 0);
    nothingLeft(data, seen);
  }));

test('annals start starts no service whose URL is configured, and its first API key is that of ANNALS_ADMIN_KEY', () =>
  withTempDirectory(async (dir) => {
    // Start a separate NATS server. The platform's streams have fixed names, so the streams on a shared server could
    // belong to another platform.
    const own = await startNatsServer();
    const { natsUrl: NATS_URL, natsAccountSeed: NATS_ACCOUNT_SEED } = own.address;
    try {
      const DATABASE_URL = await freshDatabase();
      mkdirSync(join(dir, 'data'), { mode: 0o711 });
      // Simulate an earlier start that ran the embedded Postgres and NATS.
      writeFileSync(join(dir, 'data', 'state.json'), JSON.stringify({ ports: { postgres: 40_001, nats: 40_002 } }));
      const ANNALS_ADMIN_KEY = newKey();
      const started = await start(join(dir, 'data'), undefined, { DATABASE_URL, NATS_URL, NATS_ACCOUNT_SEED, ANNALS_ADMIN_KEY });
      is(await statusFor(started.base, ANNALS_ADMIN_KEY), 200);
      not.match(started.program.output(), 'does not work');
      equal(readdirSync(join(started.data, 'run')).sort(), ['serve.pid', 'store.pid', 'work.pid']);
      not.ok(existsSync(join(started.data, 'postgres')));
      match(started.program.output(), /^ {2}postgres +DATABASE_URL$/m);
      match(started.program.output(), /^ {2}nats +NATS_URL$/m);
      equal(Object.keys(portsOf(started.data)), ['store']);
      // This warning is expected: the test configures no separate NATS account for runners.
      match(readFileSync(join(started.data, 'logs/work.log'), 'utf8'), 'runners share the NATS account of the platform');
      await stops(started);
    } finally {
      await own.close();
    }
  }));

test('if a process cannot start, the error message contains the reason and the path of its log', () =>
  withTempDirectory(async (dir) => {
    const data = join(dir, 'data');
    const running = begin(data, await freePort(), { MASTER_KEY_FILE: '/dev/null/none' });
    is(await running.ended, 1);
    match(linesOf(running).at(-1)!, /^annals: serve does not start \(.+\); its log is .*serve\.log$/);
    nothingLeft(data, []);
    ok(linesOf(running).length <= 3, running.output());
  }));

test('if the path of the data directory is too long, the error message names ANNALS_DATA', () =>
  withTempDirectory(async (dir) => {
    const running = begin(join(dir, 'x/'.repeat(200)), await freePort());
    is(await running.ended, 1);
    equal(linesOf(running), ['annals: ANNALS_DATA must be a path of at most 400 bytes']);
  }));

test.run();
