import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readText, replaceFile } from '../durable-files.ts';
import { runHelper } from '../supervision/helper-programs.ts';
import type { ManagedProcess } from '../supervision/managed-process.ts';
import { type OsUser, postgresUser } from './os-user.ts';
import { isTraversable, runnableBinaries, sharedDirectory } from './server-binaries.ts';

const SUPERUSER = 'postgres';
const NAME = 'annals';
const HALF = 'data.new.';
/** In the directory, the name of its place; in the place, the name of its directory. */
const RECORD = 'place';
const HOLDER = 'holder';

/** One collation and one case mapping on every system; and no time zone to look for. */
const INITDB = [
  '-E',
  'UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--auth=scram-sha-256',
  '-U',
  SUPERUSER,
];

/** glibc gives memory back at the end of each transaction and asks for it at the next: a tenth of a small batch's time. */
const KEPT = { MALLOC_TOP_PAD_: String(1 << 20), MALLOC_TRIM_THRESHOLD_: String(16 << 20), MALLOC_MMAP_THRESHOLD_: String(32 << 20) };

/** Nothing of ours that PostgreSQL would heed (PGDATA, LC_ALL, …). */
const ENV: NodeJS.ProcessEnv = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...KEPT };

const settings = (port: number): Record<string, string | number> => ({
  port,
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Rows and checkpoint commit together and come from the log: a lost last instant is projected again.
  synchronous_commit: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  max_logical_replication_workers: 0,
  checkpoint_timeout: '15min',
  shared_buffers: '256MB',
  jit: 'off',
  // Containers have little shared memory to give to parallel queries.
  max_parallel_workers_per_gather: 0,
});

const FORGETFUL = { fsync: 'off', full_page_writes: 'off', shared_buffers: '128MB' };

/** How another process, or a later start, reaches the server. */
export type Postgres = ManagedProcess & { readonly url: string; readonly superuserUrl: string };

export type PostgresOptions = {
  /** Holds the cluster, or the record of where it is, and the password. */
  dir: string;
  port: number;
  /** False for tests: nothing is ever flushed. */
  durable?: boolean;
};

const secretIn = (file: string): string => {
  if (!existsSync(file)) replaceFile(file, randomBytes(24).toString('base64url'));
  return readFileSync(file, 'utf8').trim();
};

const own = (path: string, account: OsUser | undefined): void => {
  if (account) chownSync(path, account.uid, account.gid);
};

/** A copy of a directory names the place of the original: two servers there would end each other, and mix two platforms' rows. */
const isAnothers = (place: string, dir: string): boolean => {
  const holder = readText(join(place, HOLDER));
  return holder !== undefined && holder !== realpathSync(dir) && readText(join(holder, RECORD)) === place;
};

/** Where the cluster is: here, or, where its user cannot come here, in an open place whose name is kept here. */
const placeOf = (dir: string, account: OsUser | undefined): string => {
  if (!account || isTraversable(dir)) return dir;
  const record = join(dir, RECORD);
  const known = readText(record);
  if (known && !isAnothers(known, dir)) return known;
  const place = join(
    sharedDirectory(),
    createHash('sha256')
      .update(`${dir}\n${randomBytes(16).toString('hex')}`)
      .digest('hex')
      .slice(0, 16),
  );
  replaceFile(record, `${place}\n`);
  return place;
};

const isPasswordless = (error: unknown): boolean =>
  /could not look up effective user ID/.test(String((error as { stderr?: string }).stderr));

const reasonOf = (error: unknown): string => {
  const { stderr = '', message = '' } = error as { stderr?: string; message?: string };
  return stderr.split('\n').find((line) => /error|fatal|could not/i.test(line)) ?? message.split('\n', 1)[0] ?? '';
};

type Run = (command: string, args: string[]) => Promise<unknown>;

/** initdb wants a name for its user. Where /etc/passwd has none, a user namespace may lend one. */
const initdb = async (run: Run, binary: string, args: string[]): Promise<void> => {
  const failed = await run(binary, args).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!failed) return;
  if (!isPasswordless(failed)) throw new Error(`initdb: ${reasonOf(failed)}`);
  await run('unshare', ['--user', '--map-user=65534', binary, ...args]).catch(() => {
    throw new Error(`user id ${process.getuid?.()} has no line in /etc/passwd, which PostgreSQL demands; add one, or set DATABASE_URL`);
  });
};

/** What an earlier start did not finish. Its initdb may still be at work: then the next start finds the rest. */
const dropHalves = (place: string): void => {
  for (const name of readdirSync(place).filter((each) => each.startsWith(HALF)))
    try {
      rmSync(join(place, name), { recursive: true, force: true });
    } catch {
      // Somebody writes there.
    }
};

/** Makes the cluster beside its final place and moves it there whole, so that half a one is never taken for one. */
const makeCluster = async (native: string, place: string, password: string, account: OsUser | undefined): Promise<void> => {
  dropHalves(place);
  const half = join(place, `${HALF}${process.pid}`);
  const passwordFile = join(place, `${HALF}${process.pid}.password`);
  mkdirSync(half, { mode: 0o700 });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  for (const path of [half, passwordFile]) own(path, account);
  const run: Run = (command, args) => runHelper(command, args, { cwd: '/', env: ENV, ...account });
  // Not flushed at once: what a power cut may spoil can be thrown away.
  const args = [...INITDB, '--no-sync', `--pwfile=${passwordFile}`, '-D', half];
  await initdb(run, join(native, 'bin', 'initdb'), args).finally(() => rmSync(passwordFile, { force: true }));
  renameSync(half, join(place, 'data'));
};

const derived = (password: string): string => createHash('sha256').update(`${NAME}:${password}`).digest('base64url');

const urlOf = (user: string, password: string, port: number, database: string): string =>
  `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;

/** In a process of its own, so that the supervisor, which runs for months, need not load the PostgreSQL client. */
const ensureDatabase = async (superuserUrl: string, password: string, ended: AbortSignal): Promise<void> => {
  const env = { ...process.env, SUPERUSER_URL: superuserUrl, DATABASE_NAME: NAME, ROLE_PASSWORD: password };
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'create-database.ts')], { env, signal: ended }).catch((error) => {
    throw new Error(`the database ${NAME} cannot be created: ${reasonOf(error)}`);
  });
};

/** Prepares PostgreSQL 18 on 127.0.0.1 from the binaries that npm brought: a cluster, its password, and how to run it. `url` in `dir` lets psql in. */
export const postgres = async ({ dir, port, durable = true }: PostgresOptions): Promise<Postgres> => {
  const account = postgresUser();
  mkdirSync(dir, { recursive: true, mode: account ? 0o711 : 0o700 });
  const place = placeOf(dir, account);
  const native = await runnableBinaries(account !== undefined, dir);
  const password = secretIn(join(dir, 'password'));
  mkdirSync(place, { recursive: true, mode: 0o711 });
  if (account) chmodSync(place, 0o711);
  if (place !== dir) writeFileSync(join(place, HOLDER), `${realpathSync(dir)}\n`, { mode: 0o600 });
  const data = join(place, 'data');
  if (!existsSync(data)) await makeCluster(native, place, password, account);
  const options = Object.entries({ ...settings(port), ...(durable ? {} : FORGETFUL) });
  const superuserUrl = urlOf(SUPERUSER, password, port, 'postgres');
  const url = urlOf(NAME, derived(password), port, NAME);
  writeFileSync(join(dir, 'url'), `${url}\n`, { mode: 0o600 });
  return {
    name: 'postgres',
    command: join(native, 'bin', 'postgres'),
    args: ['-D', data, ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    env: ENV,
    ...account,
    stopSignal: 'SIGINT',
    graceMs: 10_000,
    ownPidFile: { file: join(data, 'postmaster.pid'), mark: data },
    readyPattern: /database system is ready to accept connections/,
    prepare: (ended) => ensureDatabase(superuserUrl, derived(password), ended),
    isLowPriority: true,
    superuserUrl,
    url,
  };
};
