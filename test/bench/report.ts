import { count, median, milliseconds, ratio, table } from './format.ts';
import { type Limit, limits } from './limits.ts';
import type { Figures } from './load.ts';
import { workloads } from './workloads.ts';

/** Maps the names of workloads and limits to their figures, with one entry per run. */
export type Results = ReadonlyMap<string, readonly Figures[]>;

const medianOf = (runs: readonly Figures[] | undefined, of: keyof Figures): number => median((runs ?? []).map((run) => run[of]));

const formatFigures = (runs: readonly Figures[] | undefined): string[] => [
  count(medianOf(runs, 'rate')),
  milliseconds(medianOf(runs, 'p50')),
  milliseconds(medianOf(runs, 'p99')),
];

/**
 * Returns the workload's result as a share of the limit: the median of the shares in all runs. Workload and limit are
 * compared within the same run, because a slow phase of the machine affects both.
 */
const shareOfLimit = (runs: readonly Figures[], limit: Limit, of: readonly Figures[]): number =>
  median(runs.map((run, index) => (limit.comparesP50 ? of[index]!.p50 / run.p50 : run.rate / of[index]!.rate)));

const rowsOf = (results: Results, { name, title }: (typeof workloads)[number]): string[][] => {
  const runs = results.get(name);
  if (!runs) return [];
  const own = [`${name} ${title}`, ...formatFigures(runs), count(runs.reduce((sum, { failed }) => sum + failed, 0)), '', ''];
  const limitRows = limits
    .filter(({ workloads }) => workloads.includes(name))
    .flatMap((limit) => {
      const of = results.get(limit.name);
      return of
        ? [[`   ${limit.name}`, ...formatFigures(of), '', ratio(shareOfLimit(runs, limit, of)), limit.comparesP50 ? 'p50' : 'rate']]
        : [];
    });
  return [own, ...limitRows];
};

const HEAD = ['workload, and its limits below', 'req/s', 'p50 ms', 'p99 ms', 'failed', 'of the limit', 'by'];

/** Formats a table of the workloads, sorted by name. Each workload is followed by its limits. */
export const resultTable = (results: Results): string =>
  table(
    HEAD,
    [...workloads].sort((a, b) => a.name.localeCompare(b.name)).flatMap((workload) => rowsOf(results, workload)),
  );

export type Memory = Readonly<Partial<Record<string, number>>>;

export const memoryTable = (atRest: Memory, peaks: Memory): string =>
  table(
    ['memory, MiB', 'at rest', 'peak'],
    Object.keys(peaks).map((name) => [name, count(atRest[name] ?? Number.NaN), count(peaks[name] ?? Number.NaN)]),
  );

/**
 * Maps workload names to processor times in microseconds per request. Each run has a record with the time of every
 * process.
 */
export type Costs = ReadonlyMap<string, readonly Readonly<Record<string, number>>[]>;

export const costTable = (costs: Costs, processes: readonly string[]): string =>
  table(
    ['processor, µs per request', ...processes, 'all'],
    [...costs]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, runs]) => {
        const each = processes.map((process) => median(runs.map((run) => run[process] ?? Number.NaN)));
        return [name, ...each.map(count), count(each.reduce((sum, one) => sum + one, 0))];
      }),
  );
