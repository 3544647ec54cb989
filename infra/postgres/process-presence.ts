import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname } from 'node:path';
import type { Pool } from 'pg';
import packageJson from '../../package.json' with { type: 'json' };
import { BUNDLE, RUNNING_MAIN } from '../program.ts';

const REPORT_INTERVAL_MS = 5_000;
/** Processes that have not reported for this time are `silent`. */
const SILENT_AFTER_MS = 15_000;
/** The most processes that `readProcesses` returns. */
const MAX_PROCESSES = 100;
const BUILD_CHARACTERS = 8;

export type ProcessKind = 'serve' | 'work';

/** `name` is the host and the process id. Times are RFC 3339. */
export type ProcessPresence = {
  readonly name: string;
  readonly kind: ProcessKind;
  readonly version: string;
  /** Equal in processes that run the same code; null if the program is not bundled. */
  readonly build: string | null;
  readonly node: string;
  readonly started_at: string;
  readonly last_seen_at: string;
  readonly state: 'running' | 'silent';
};

type Querier = Pick<Pool, 'query'>;

/** The names of the other files of a bundle have digests of their contents, so this file differs if any of them does. */
const buildOf = (): string | null =>
  basename(dirname(RUNNING_MAIN)) === BUNDLE
    ? createHash('sha256').update(readFileSync(RUNNING_MAIN)).digest('hex').slice(0, BUILD_CHARACTERS)
    : null;

const OWN = {
  name: `${hostname()} ${process.pid}`,
  version: packageJson.version,
  build: buildOf(),
  node: process.versions.node,
  started_at: new Date(Date.now() - process.uptime() * 1_000).toISOString(),
};

/** Returns this process, as one that runs. */
export const ownProcess = (kind: ProcessKind): ProcessPresence => ({
  ...OWN,
  kind,
  last_seen_at: new Date().toISOString(),
  state: 'running',
});

/** Stores that a process runs, and deletes the processes that have not reported for an hour. */
export const reportProcess = async (
  db: Querier,
  { name, kind, version, build, node, started_at }: Omit<ProcessPresence, 'last_seen_at' | 'state'>,
): Promise<void> => {
  await db.query(
    `with forgotten as (delete from annals.processes where seen_at < now() - interval '1 hour' and name <> $1)
     insert into annals.processes (name, kind, version, build, node, started_at) values ($1, $2, $3, $4, $5, $6)
     on conflict (name) do update set kind = excluded.kind, version = excluded.version, build = excluded.build, node = excluded.node,
       started_at = excluded.started_at, seen_at = now()`,
    [name, kind, version, build, node, started_at],
  );
};

/** Deletes a process that ends. */
export const withdrawProcess = async (db: Querier, name: string): Promise<void> => {
  await db.query('delete from annals.processes where name = $1', [name]);
};

/**
 * Reports every five seconds that this process runs, until it is closed. While the database does not answer, or no worker of
 * this version has created its tables yet, nothing is reported.
 */
export const startProcessReports = (db: Querier, kind: ProcessKind): { readonly close: () => Promise<void> } => {
  let isClosed = false;
  let reporting = Promise.resolve();
  const report = (): void => {
    reporting = reporting.then(() => (isClosed ? undefined : reportProcess(db, ownProcess(kind)))).catch(() => {});
  };
  report();
  const timer = setInterval(report, REPORT_INTERVAL_MS);
  return {
    close: async () => {
      isClosed = true;
      clearInterval(timer);
      await reporting;
      await withdrawProcess(db, OWN.name).catch(() => {});
    },
  };
};

type Row = Omit<ProcessPresence, 'started_at' | 'last_seen_at' | 'state'> & { readonly started: number; readonly silent: number };

const timeOf = (ms: number): string => new Date(ms).toISOString();

/** Returns this process, and then those of all hosts that have reported during the last hour: `serve` before `work`, each newest first. */
export const readProcesses = async (db: Querier, kind: ProcessKind): Promise<readonly ProcessPresence[]> => {
  const { rows } = await db.query<Row>(
    `select name, kind, version, build, node, extract(epoch from started_at)::double precision * 1000 as started,
       extract(epoch from now() - seen_at)::double precision * 1000 as silent
     from annals.processes where seen_at > now() - interval '1 hour' and name <> $1
     order by kind, annals.processes.started_at desc, name limit ${MAX_PROCESSES}`,
    [OWN.name],
  );
  const others = rows.map(
    ({ started, silent, ...row }): ProcessPresence => ({
      ...row,
      started_at: timeOf(started),
      last_seen_at: timeOf(Date.now() - silent),
      state: silent > SILENT_AFTER_MS ? 'silent' : 'running',
    }),
  );
  return [ownProcess(kind), ...others];
};
