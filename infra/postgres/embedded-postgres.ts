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
import { entryPoint } from '../program.ts';
import { runHelper } from '../supervision/helper-programs.ts';
import type { ManagedProcess } from '../supervision/managed-process.ts';
import { type OsUser, postgresUser } from './os-user.ts';
import { isTraversable, runnableBinaries, sharedDirectory } from './server-binaries.ts';

const SUPERUSER = 'postgres';
/** The name of both the role and the database. */
const NAME = 'annals';
const PARTIAL_PREFIX = 'data.new.';
/**
 * The cluster (PostgreSQL's data directory) can be outside the directory `dir`. In this case, LOCATION_FILE in `dir`
 * contains the path of the cluster's location, and OWNER_FILE at that location contains the path of `dir`.
 */
const LOCATION_FILE = 'place';
const OWNER_FILE = 'holder';

/** Settings for initdb that give the same collation and case mapping on every system. */
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

/**
 * Settings that make glibc keep freed memory. Otherwise, glibc would return memory to the system after each transaction
 * and allocate it again, which takes a tenth of the time of a small batch.
 */
const MALLOC_SETTINGS = {
  MALLOC_TOP_PAD_: String(1 << 20),
  MALLOC_TRIM_THRESHOLD_: String(16 << 20),
  MALLOC_MMAP_THRESHOLD_: String(32 << 20),
};

/** The environment variables of PostgreSQL. It inherits no others, because some would change its behaviour (PGDATA, LC_ALL). */
const ENV: NodeJS.ProcessEnv = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...MALLOC_SETTINGS };

const settings = (port: number): Record<string, string | number> => ({
  port,
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  timezone: 'UTC',
  log_timezone: 'UTC',
  // A crash may lose committed transactions. That is safe: a projection's rows and its checkpoint are committed
  // together. So after a crash, the projection continues at an earlier checkpoint, and applies the later events again.
  synchronous_commit: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  max_logical_replication_workers: 0,
  checkpoint_timeout: '15min',
  shared_buffers: '256MB',
  jit: 'off',
  // Parallel queries need more shared memory than many containers have.
  max_parallel_workers_per_gather: 0,
});

const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off', shared_buffers: '128MB' };

/** How to run the server's process. Also contains the URLs for connecting as the role of Annals and as superuser. */
export type Postgres = ManagedProcess & { readonly url: string; readonly superuserUrl: string };

export type PostgresOptions = {
  /** The directory with the cluster's password. It also contains the cluster or the file that names the cluster's location. */
  dir: string;
  port: number;
  /** Whether data is flushed to the disk. False in tests. */
  durable?: boolean;
};

const readOrCreatePassword = (file: string): string => {
  if (!existsSync(file)) replaceFile(file, randomBytes(24).toString('base64url'));
  return readFileSync(file, 'utf8').trim();
};

const changeOwner = (path: string, user: OsUser | undefined): void => {
  if (user) chownSync(path, user.uid, user.gid);
};

/**
 * Returns whether the cluster at a location belongs to another data directory than `dir`. This is so if `dir` is a copy
 * of a data directory, because the copy still refers to the location of the original. Two servers on one cluster would
 * stop each other and mix the data of two platforms.
 */
const belongsToOther = (location: string, dir: string): boolean => {
  const owner = readText(join(location, OWNER_FILE));
  return owner !== undefined && owner !== realpathSync(dir) && readText(join(owner, LOCATION_FILE)) === location;
};

/**
 * Returns the location of the cluster. This is the directory itself or, if PostgreSQL's user cannot enter it, a
 * directory within a shared directory.
 */
const locationOf = (dir: string, user: OsUser | undefined): string => {
  if (!user || isTraversable(dir)) return dir;
  const record = join(dir, LOCATION_FILE);
  const known = readText(record);
  if (known && !belongsToOther(known, dir)) return known;
  const location = join(
    sharedDirectory(),
    createHash('sha256')
      .update(`${dir}\n${randomBytes(16).toString('hex')}`)
      .digest('hex')
      .slice(0, 16),
  );
  replaceFile(record, `${location}\n`);
  return location;
};

const hasNoUserName = (error: unknown): boolean =>
  /could not look up effective user ID/.test(String((error as { stderr?: string }).stderr));

const reasonOf = (error: unknown): string => {
  const { stderr = '', message = '' } = error as { stderr?: string; message?: string };
  return stderr.split('\n').find((line) => /error|fatal|could not/i.test(line)) ?? message.split('\n', 1)[0] ?? '';
};

type Run = (command: string, args: string[]) => Promise<unknown>;

/**
 * Runs initdb, which fails if its user has no name in /etc/passwd. If it fails, it is run again in a user namespace, in
 * which the user may have a name.
 */
const initdb = async (run: Run, binary: string, args: string[]): Promise<void> => {
  const failed = await run(binary, args).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!failed) return;
  if (!hasNoUserName(failed)) throw new Error(`initdb: ${reasonOf(failed)}`);
  await run('unshare', ['--user', '--map-user=65534', binary, ...args]).catch(() => {
    throw new Error(`user id ${process.getuid?.()} has no entry in /etc/passwd, which PostgreSQL requires: add one, or set DATABASE_URL`);
  });
};

/**
 * Removes the incomplete clusters that interrupted starts left. If initdb of such a start is still running, some files
 * remain, and a later start removes them.
 */
const removePartialClusters = (location: string): void => {
  for (const name of readdirSync(location).filter((each) => each.startsWith(PARTIAL_PREFIX)))
    try {
      rmSync(join(location, name), { recursive: true, force: true });
    } catch {
      // An initdb is still writing to this directory; a later start removes it.
    }
};

/** Creates the cluster under a temporary name and renames it when it is complete. So an incomplete cluster is never used. */
const createCluster = async (native: string, location: string, password: string, user: OsUser | undefined): Promise<void> => {
  removePartialClusters(location);
  const partial = join(location, `${PARTIAL_PREFIX}${process.pid}`);
  const passwordFile = join(location, `${PARTIAL_PREFIX}${process.pid}.password`);
  mkdirSync(partial, { mode: 0o700 });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  for (const path of [partial, passwordFile]) changeOwner(path, user);
  const run: Run = (command, args) => runHelper(command, args, { cwd: '/', env: ENV, ...user });
  // With `--no-sync`, a power failure may damage the new cluster. It contains no data yet, and can be created again.
  const args = [...INITDB, '--no-sync', `--pwfile=${passwordFile}`, '-D', partial];
  await initdb(run, join(native, 'bin', 'initdb'), args).finally(() => rmSync(passwordFile, { force: true }));
  renameSync(partial, join(location, 'data'));
};

const rolePasswordOf = (password: string): string => createHash('sha256').update(`${NAME}:${password}`).digest('base64url');

const urlOf = (user: string, password: string, port: number, database: string): string =>
  `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;

/**
 * Creates the role and the database of Annals if they do not exist; so a database that was dropped is created
 * again, empty. This runs in a separate process, so that the long-running supervisor need not load the PostgreSQL
 * client.
 */
const ensureDatabase = async (superuserUrl: string, password: string, ended: AbortSignal): Promise<void> => {
  const env = { ...process.env, SUPERUSER_URL: superuserUrl, DATABASE_NAME: NAME, ROLE_PASSWORD: password };
  await promisify(execFile)(process.execPath, [entryPoint('infra/postgres/create-database.ts')], { env, signal: ended }).catch((error) => {
    throw new Error(`the database ${NAME} cannot be created: ${reasonOf(error)}`);
  });
};

/**
 * Prepares PostgreSQL 18 on 127.0.0.1, with the binaries of the npm package. Creates the cluster and its password, and
 * returns how to start the server. The file `url` in `dir` contains a URL with which psql can connect.
 */
export const postgres = async ({ dir, port, durable = true }: PostgresOptions): Promise<Postgres> => {
  const user = postgresUser();
  mkdirSync(dir, { recursive: true, mode: user ? 0o711 : 0o700 });
  const location = locationOf(dir, user);
  const native = await runnableBinaries(user !== undefined, dir);
  const password = readOrCreatePassword(join(dir, 'password'));
  mkdirSync(location, { recursive: true, mode: 0o711 });
  if (user) chmodSync(location, 0o711);
  if (location !== dir) writeFileSync(join(location, OWNER_FILE), `${realpathSync(dir)}\n`, { mode: 0o600 });
  const data = join(location, 'data');
  if (!existsSync(data)) await createCluster(native, location, password, user);
  const options = Object.entries({ ...settings(port), ...(durable ? {} : NOT_DURABLE) });
  const superuserUrl = urlOf(SUPERUSER, password, port, 'postgres');
  const url = urlOf(NAME, rolePasswordOf(password), port, NAME);
  writeFileSync(join(dir, 'url'), `${url}\n`, { mode: 0o600 });
  return {
    name: 'postgres',
    command: join(native, 'bin', 'postgres'),
    args: ['-D', data, ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    env: ENV,
    ...user,
    stopSignal: 'SIGINT',
    graceMs: 10_000,
    ownPidFile: { file: join(data, 'postmaster.pid'), mark: data },
    readyPattern: /database system is ready to accept connections/,
    prepare: (ended) => ensureDatabase(superuserUrl, rolePasswordOf(password), ended),
    isLowPriority: true,
    superuserUrl,
    url,
  };
};
