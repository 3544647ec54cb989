import { pino } from 'pino';
import { projections } from '../../projections/registry.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import { openPool } from '../postgres/pool.ts';
import { checkDrift, type DriftedRow, type DriftReport } from '../projector/drift-check.ts';
import { locateServices } from './locate-services.ts';

const reportLine = ({ projection, position, checked, drifted }: DriftReport): string => {
  const result = position ? `${checked} rows at ${position}` : 'nothing to check: this version of the projection has not been built yet';
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
  if (count > 0) return { text: `${count} ${count === 1 ? 'row differs' : 'rows differ'} from what the log yields`, code: 1 };
  if (unchecked === 0) return { text: 'every row is what the log yields', code: 0 };
  const what = unchecked === 1 ? 'one projection was' : `${unchecked} projections were`;
  return { text: `${what} not checked, because this version of them has not been built yet`, code: 3 };
};

/**
 * Computes every row again from the log, and compares it with the stored row. Without `json`, prints a line for each
 * projection; with `json`, prints one line of JSON at the end.
 * @returns the exit code: 1 if a row differs from what the log yields, 3 if not all projections could be checked
 */
export const verify = async (config: Config, { json }: { readonly json: boolean }): Promise<number> => {
  const { eventstoreUrl, databaseUrl } = locateServices(config);
  const log = openLog(eventstoreUrl);
  const pool = openPool(databaseUrl, pino({ level: 'silent' }), 'verify', { max: 1 });
  const reports: DriftReport[] = [];
  const print = json ? () => {} : console.log;
  try {
    for (const projection of projections) {
      const report = await checkDrift(log, pool, projection, 'all');
      reports.push(report);
      print(reportLine(report));
      for (const drifted of report.drifted) print(driftLine(drifted));
    }
  } finally {
    await Promise.all([log.close(), pool.end()]);
  }
  const { text, code } = verdictOf(reports);
  if (json) console.log(JSON.stringify({ ok: code === 0, projections: reports }));
  print(text);
  return code;
};
