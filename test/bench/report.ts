import { count, median, milliseconds, ratio, table } from './format.ts';
import { type Limit, limits } from './limits.ts';
import type { Figures } from './load.ts';
import { workloads } from './workloads.ts';

/** What each run measured, by the name of the workload or the limit. */
export type Results = ReadonlyMap<string, readonly Figures[]>;

const middle = (runs: readonly Figures[] | undefined, of: keyof Figures): number => median((runs ?? []).map((run) => run[of]));

const figures = (runs: readonly Figures[] | undefined): string[] => [
  count(middle(runs, 'rate')),
  milliseconds(middle(runs, 'p50')),
  milliseconds(middle(runs, 'p99')),
];

/** A run's figure beside the limit's of the same run: a slow spell of the machine hits both. */
const shareOf = (runs: readonly Figures[], limit: Limit, of: readonly Figures[]): number =>
  median(runs.map((run, index) => (limit.byTime ? of[index]!.p50 / run.p50 : run.rate / of[index]!.rate)));

const rowsOf = (results: Results, { name, title }: (typeof workloads)[number]): string[][] => {
  const runs = results.get(name);
  if (!runs) return [];
  const own = [`${name} ${title}`, ...figures(runs), count(runs.reduce((sum, { failed }) => sum + failed, 0)), '', ''];
  const beside = limits
    .filter(({ under }) => under.includes(name))
    .flatMap((limit) => {
      const of = results.get(limit.name);
      return of ? [[`   ${limit.name}`, ...figures(of), '', ratio(shareOf(runs, limit, of)), limit.byTime ? 'p50' : 'rate']] : [];
    });
  return [own, ...beside];
};

const HEAD = ['workload, and its limits below', 'req/s', 'p50 ms', 'p99 ms', 'failed', 'of the limit', 'by'];

/** Workloads in the order of their names, each with the limits that it stands on. */
export const resultTable = (results: Results): string =>
  table(
    HEAD,
    [...workloads].sort((a, b) => a.name.localeCompare(b.name)).flatMap((workload) => rowsOf(results, workload)),
  );

export type Memory = Readonly<Partial<Record<string, number>>>;

export const memoryTable = (atRest: Memory, most: Memory): string =>
  table(
    ['memory, MiB', 'at rest', 'most'],
    Object.keys(most).map((name) => [name, count(atRest[name] ?? Number.NaN), count(most[name] ?? Number.NaN)]),
  );

/** Microseconds of processor time a request, by the name of the workload and of the process, a figure a run. */
export type Costs = ReadonlyMap<string, readonly Readonly<Record<string, number>>[]>;

export const costTable = (costs: Costs, processes: readonly string[]): string =>
  table(
    ['processor, us a request', ...processes, 'all'],
    [...costs]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, runs]) => {
        const each = processes.map((process) => median(runs.map((run) => run[process] ?? Number.NaN)));
        return [name, ...each.map(count), count(each.reduce((sum, one) => sum + one, 0))];
      }),
  );
