import { pino } from 'pino';
import { counted } from '../../../domain/counted.ts';
import type { AnyProjection } from '../../../projections/projection.ts';
import { projections } from '../../../projections/registry.ts';
import type { Config } from '../../config.ts';
import { openLog } from '../../eventstore/client.ts';
import { examplesOf } from '../../logging/examples.ts';
import { printLine } from '../../logging/print-line.ts';
import { openPool } from '../../postgres/pool.ts';
import { checkAllDrift, type DriftedRow, type DriftReport } from '../../projector/drift-check.ts';
import { usageError } from '../arguments.ts';
import { locateServices } from '../locate-services.ts';
import { startProgress } from './verify-progress.ts';

const reportLine = ({ projection, position, checked, drifted }: DriftReport): string => {
  const result = position
    ? `${counted(checked, 'row')} at ${position}`
    : 'nothing to check: this version of the projection has not been built yet';
  const verdict = drifted.length > 0 ? 'FAIL' : position ? 'ok  ' : '--  ';
  return `${verdict}  ${projection.padEnd(20)} ${result}`;
};

const driftLine = ({ table, key, columns, event }: DriftedRow): string => {
  const since = event ? `, since ${event.stream}@${event.revision} (${event.type})` : '';
  return `      ${table} ${JSON.stringify(key)} differs in ${columns.join(', ')}${since}`;
};

/** Returns the result of all checks as a line of text, and the exit code: 3 if no row differs, but not all were checked. */
export const verdictOf = (
  reports: readonly Pick<DriftReport, 'position' | 'drifted'>[],
): { readonly text: string; readonly code: number } => {
  const count = reports.reduce((sum, { drifted }) => sum + drifted.length, 0);
  const unchecked = reports.filter(({ position }) => position === null).length;
  if (count > 0) return { text: `${counted(count, 'row')} ${count === 1 ? 'differs' : 'differ'} from what the log yields`, code: 1 };
  if (unchecked === 0) return { text: 'every row is what the log yields', code: 0 };
  const what = `${counted(unchecked, 'projection')} ${unchecked === 1 ? 'was' : 'were'}`;
  return { text: `${what} not checked, because this version has not been built yet`, code: 3 };
};

/** Returns the findings as lines, those of projections that differ first: for each the first rows, or all with `isVerbose`. */
export const findingLines = (reports: readonly DriftReport[], isVerbose: boolean): string[] => {
  const differing = reports.filter(({ drifted }) => drifted.length > 0);
  const others = reports.filter(({ drifted }) => drifted.length === 0);
  return [...differing, ...others].flatMap((report) => [
    reportLine(report),
    ...examplesOf(report.drifted.map(driftLine), isVerbose, '      '),
  ]);
};

/** Returns the projections with these names; all of them if there are no names. @throws a usage error that lists the names */
export const projectionsNamed = (names: readonly string[]): readonly AnyProjection[] => {
  const unknown = names.filter((name) => !projections.some((projection) => projection.name === name));
  if (unknown.length > 0)
    throw usageError(`there is no projection ${unknown.join(', ')}; there are ${projections.map(({ name }) => name).join(', ')}`);
  return names.length === 0 ? projections : projections.filter(({ name }) => names.includes(name));
};

export type VerifyOptions = { readonly json: boolean; readonly verbose: boolean; readonly chosen: readonly AnyProjection[] };

/**
 * Computes every row again from the log, and compares it with the stored row. Without `json`, prints a line for each
 * projection, those that differ first, and the verdict; with `json`, prints one line of JSON.
 * @returns the exit code: 1 if a row differs from what the log yields, 3 if not all projections could be checked
 */
export const verify = async (config: Config, { json, verbose, chosen }: VerifyOptions): Promise<number> => {
  const { eventstoreUrl, databaseUrl } = locateServices(config);
  const log = openLog(eventstoreUrl);
  const pool = openPool(databaseUrl, pino({ level: 'silent' }), 'verify', { max: 1 });
  const closeAll = () => Promise.all([log.close(), pool.end()]);
  const progress = startProgress();
  const reports = await checkAllDrift(log, pool, chosen, { onProgress: progress.show }).finally(closeAll).finally(progress.end);
  const { text, code } = verdictOf(reports);
  if (json) printLine(JSON.stringify({ ok: code === 0, projections: reports }));
  if (!json) for (const line of [...findingLines(reports, verbose), text]) printLine(line);
  return code;
};
