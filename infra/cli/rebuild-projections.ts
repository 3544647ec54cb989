import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { projections } from '../../projections/registry.ts';
import type { Config } from '../config.ts';
import { connection } from '../postgres/pool.ts';
import { requestMaintenance, requestState } from '../projector/maintenance-requests.ts';
import type { RebuildResult } from '../projector/rebuild-result.ts';
import { type PublishedStatus, publishedStatuses } from '../projector/status.ts';
import { locateServices } from './locate-services.ts';

const POLL_MS = 250;
const WORKER_TIMEOUT_SECONDS = 10;
const WIDTH = 30;

const time = (seconds: number | null): string =>
  seconds === null ? '' : `${Math.floor(seconds / 60)}:${String(Math.round(seconds) % 60).padStart(2, '0')} left`;

const bar = (done: number): string => '█'.repeat(Math.round(done * WIDTH)).padEnd(WIDTH, '░');

const lineOf = ({ name, rebuild }: PublishedStatus): string => {
  if (!rebuild) return `${name}  waiting`;
  const { done, rate, seconds_left } = rebuild;
  return `${name}  ${bar(done)} ${String(Math.floor(done * 100)).padStart(3)} %  ${Math.round(rate).toLocaleString('en')} events/s  ${time(seconds_left)}`;
};

/** On a terminal one line that changes; elsewhere a line a second. */
const progress = () => {
  let told = 0;
  return {
    show: (line: string): void => {
      if (process.stdout.isTTY) return void process.stdout.write(`\r\x1b[K${line}`);
      if (Date.now() - told < 1_000) return;
      told = Date.now();
      console.log(line);
    },
    end: (line: string): void => {
      if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
      console.log(line);
    },
  };
};

const endOf = (name: string, { promoted, comparison }: RebuildResult): string => {
  const seen = comparison
    ? `${comparison.rows.toLocaleString('en')} rows compared, ${comparison.differing.toLocaleString('en')} differed`
    : 'another shape: nothing to compare';
  const shown = (comparison?.shown ?? []).map(({ table, key, only, columns, touched }) => {
    const how = only ? `only in the ${only} rows` : `differs in ${columns.join(', ')}`;
    return `\n  ${table} ${JSON.stringify(key)} ${how}, last touched by ${touched}`;
  });
  return `${name}  ${promoted ? 'rebuilt' : 'kept as it was'}: ${seen}${shown.join('')}`;
};

const one = async (db: pg.Client, name: string, kind: 'rebuild' | 'rebuild-if-equal'): Promise<boolean> => {
  const id = await requestMaintenance(db, kind, name);
  const { show, end } = progress();
  for (let quiet = Date.now(); ; await sleep(POLL_MS)) {
    const state = await requestState(db, id);
    if (state?.done_at) {
      end(endOf(name, state.outcome as RebuildResult));
      return (state.outcome as RebuildResult).promoted;
    }
    const status = (await publishedStatuses(db)).find((one) => one.name === name);
    if (status && status.silent_seconds < WORKER_TIMEOUT_SECONDS) quiet = Date.now();
    if (Date.now() - quiet > WORKER_TIMEOUT_SECONDS * 1_000) throw new Error(`no worker keeps ${name}: start one with annals work`);
    if (status) show(lineOf(status));
  }
};

/** Rebuilds one projection or all, one after another, while the old rows serve. Resolves to the exit code: 1 where old rows were kept. */
export const rebuild = async (
  config: Config,
  { projection, all, ifEqual }: { projection?: string | undefined; all: boolean; ifEqual: boolean },
): Promise<number> => {
  const known = projections.map(({ name }) => name);
  if (!all && (projection === undefined || !known.includes(projection)))
    throw new Error(`name a projection (${known.join(', ')}) or --all`);
  const db = new pg.Client(connection(locateServices(config).databaseUrl, 'rebuild'));
  await db.connect();
  try {
    let promoted = true;
    for (const name of all ? known : [projection!]) promoted = (await one(db, name, ifEqual ? 'rebuild-if-equal' : 'rebuild')) && promoted;
    return promoted ? 0 : 1;
  } finally {
    await db.end();
  }
};
