import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { type MaintenanceContext, recordPromotion } from '../../../commands/operations/projection-maintenance.ts';
import { nounOf } from '../../../domain/counted.ts';
import { projections } from '../../../projections/registry.ts';
import type { Config } from '../../config.ts';
import { openLog } from '../../eventstore/client.ts';
import { printLine } from '../../logging/print-line.ts';
import { connectionConfig } from '../../postgres/pool.ts';
import { printError } from '../../processes/exit.ts';
import type { Rebuild } from '../../projector/admin-replies.ts';
import { type OpenedProjectionAdmin, openProjectionAdmin } from '../../projector/projection-admin.ts';
import { type PublishedStatus, publishedStatuses, WORKER_SILENT_SECONDS } from '../../projector/status.ts';
import { usageError } from '../arguments.ts';
import { locateServices } from '../locate-services.ts';
import { openOperatorContext } from '../operator-context.ts';

const POLL_INTERVAL_MS = 250;
const BAR_WIDTH = 30;
/** The operator who runs this command is not a user of the platform. */
const ACTOR = { kind: 'system', id: 'annals rebuild' } as const;
const OPERATOR = { ...ACTOR, name: null };

type Services = { readonly db: pg.Client; readonly admin: OpenedProjectionAdmin; readonly ctx: MaintenanceContext };
type Comparison = Rebuild['comparison'];

const timeLeft = (seconds: number | null): string =>
  seconds === null ? '' : `${Math.floor(seconds / 60)}:${String(Math.round(seconds) % 60).padStart(2, '0')} left`;

const bar = (done: number): string => '█'.repeat(Math.round(done * BAR_WIDTH)).padEnd(BAR_WIDTH, '░');

const progressLine = ({ name, rebuild }: PublishedStatus): string => {
  if (!rebuild) return `${name}  waiting`;
  const { done, rate, seconds_left } = rebuild;
  return `${name}  ${bar(done)} ${String(Math.floor(done * 100)).padStart(3)} %  ${Math.round(rate).toLocaleString('en')} events/s  ${timeLeft(seconds_left)}`;
};

/** Shows nothing with `json`, a line that is overwritten on a terminal, and otherwise one line per second. */
const progressDisplay = (json: boolean) => {
  let shownAt = 0;
  return {
    show: (line: string): void => {
      if (json) return;
      if (process.stdout.isTTY) return void process.stdout.write(`\r\x1b[K${line}`);
      if (Date.now() - shownAt < 1_000) return;
      shownAt = Date.now();
      printLine(line);
    },
    end: (lines: readonly string[]): void => {
      if (process.stdout.isTTY && !json) process.stdout.write('\r\x1b[K');
      for (const line of lines) printLine(line);
    },
  };
};

const resultLines = (name: string, isPromoted: boolean, comparison: Comparison): string[] => {
  const summary = comparison
    ? `${comparison.rows.toLocaleString('en')} ${nounOf(comparison.rows, 'row')} compared, ${comparison.differing.toLocaleString('en')} differed`
    : 'not compared, because the tables have changed';
  const differences = (comparison?.shown ?? []).map(({ table, key, only, columns, touched }) => {
    const how = only ? `only in the ${only} rows` : `differs in ${columns.join(', ')}`;
    return `  ${table} ${JSON.stringify(key)} ${how}, last changed by ${touched}`;
  });
  return [`${name}  ${isPromoted ? 'rebuilt' : 'kept as it was'}: ${summary}`, ...differences];
};

/** @throws Error if no worker has written the projection for some seconds */
const waitFor = async (
  { db, admin }: Services,
  { projection, id }: Rebuild,
  states: readonly Rebuild['state'][],
  show: (line: string) => void,
): Promise<Rebuild> => {
  for (let lastSeen = Date.now(); ; await sleep(POLL_INTERVAL_MS)) {
    const rebuild = await admin.rebuildOf(projection, id);
    if (rebuild && states.includes(rebuild.state)) return rebuild;
    const status = (await publishedStatuses(db)).find(({ name }) => name === projection);
    if (status && status.silent_seconds < WORKER_SILENT_SECONDS) lastSeen = Date.now();
    if (Date.now() - lastSeen > WORKER_SILENT_SECONDS * 1_000)
      throw new Error(`no worker writes ${projection}: start one with annals work`);
    if (status) show(progressLine(status));
  }
};

export type RebuildOptions = {
  readonly projection?: string | undefined;
  readonly all: boolean;
  readonly ifEqual: boolean;
  readonly json: boolean;
};

/** With `ifEqual`, keeps the live rows if any row differs. Returns whether the new rows were promoted. */
const rebuildOne = async (services: Services, name: string, { ifEqual, json }: RebuildOptions): Promise<boolean> => {
  const { admin, ctx } = services;
  const { show, end } = progressDisplay(json);
  const started = (await admin.rebuild(name, OPERATOR))!;
  const ready = await waitFor(services, started, ['ready', 'promoted', 'aborted'], show);
  const mustAbort = ifEqual && ready.comparison !== null && ready.comparison.differing > 0;
  if (ready.state === 'ready') {
    const choice = { name, id: ready.id, by: OPERATOR, reason: null };
    if (mustAbort) await admin.abort(choice);
    else await recordPromotion(ctx, (await admin.promote(choice))!);
  }
  const { state, comparison } = await waitFor(services, ready, ['promoted', 'aborted'], show);
  const isPromoted = state === 'promoted';
  const compared = comparison ?? ready.comparison;
  end(json ? [JSON.stringify({ projection: name, promoted: isPromoted, comparison: compared })] : resultLines(name, isPromoted, compared));
  return isPromoted;
};

const withServices = async <T>(config: Config, work: (services: Services) => Promise<T>): Promise<T> => {
  const { eventstoreUrl, databaseUrl } = locateServices(config);
  const db = new pg.Client(connectionConfig(databaseUrl, 'rebuild'));
  await db.connect();
  const log = openLog(eventstoreUrl);
  const admin = openProjectionAdmin(databaseUrl, log, pino({ level: 'silent' }));
  try {
    return await work({ db, admin, ctx: await openOperatorContext(log, config.masterKeyFile, ACTOR) });
  } finally {
    await Promise.all([admin.close(), log.close(), db.end()]);
  }
};

/** @throws a usage error if the options name no projection or an unknown one, or contain both a name and `--all` */
const namesOf = ({ projection, all }: RebuildOptions): readonly string[] => {
  const known: readonly string[] = projections.map(({ name }) => name);
  if (all && projection !== undefined) throw usageError(`Name a projection or use --all, not both`);
  if (all) return known;
  if (projection === undefined || !known.includes(projection)) throw usageError(`Name a projection (${known.join(', ')}) or use --all`);
  return [projection];
};

/** Prints what happens to the rebuild on Ctrl-C, and exits. Returns a function that removes the handler. */
const announceInterruption = (name: string, remaining: readonly string[]): (() => void) => {
  const onSignal = (signal: NodeJS.Signals): void => {
    const rest = remaining.length > 0 ? `; not started: ${remaining.join(', ')}` : '';
    if (process.stdout.isTTY) process.stdout.write('\n');
    printError(
      `not waiting any longer: the worker continues to rebuild ${name} beside the current rows, which stay in use until the new ones are ` +
        `promoted; annals rebuild ${name} waits for it again and promotes it${rest}`,
    );
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal);
  return () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
  };
};

/**
 * Queries read the live rows in the meantime. Each promotion is recorded in the log. Returns the exit code: 1 if the live rows of a
 * projection were kept.
 */
export const rebuild = async (config: Config, options: RebuildOptions): Promise<number> => {
  const names = namesOf(options);
  return withServices(config, async (services) => {
    let exitCode = 0;
    for (const [index, name] of names.entries()) {
      const stopWatching = announceInterruption(name, names.slice(index + 1));
      if (!(await rebuildOne(services, name, options))) exitCode = 1;
      stopWatching();
    }
    return exitCode;
  });
};
