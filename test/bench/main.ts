import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { loadFactor } from '../fixtures/load-factor.ts';
import { fillPlatform } from './dataset.ts';
import { table } from './format.ts';
import { limits } from './limits.ts';
import type { SizeFigures } from './lists.ts';
import type { Figures } from './load.ts';
import { killHelpers } from './measure.ts';
import { startPlatform, stopPrograms } from './platform.ts';
import { processorTimeOf, watchMemory } from './processes.ts';
import { costTable, memoryTable, resultTable } from './report.ts';
import { type Bench, type Workload, waitUntilIdle, workloads } from './workloads.ts';

const USAGE = `npm run bench -- [W1 … W6] [--seconds 5] [--runs 3] [--agents 10000]   the platform compared with its limits
npm run bench -- store [--runs 3]                                       the embedded event store compared with a simple one
npm run bench -- growth [--events 10000000]                             the embedded event store as its log grows
npm run bench -- rebuild [--events 1000000]                             a rebuild of the projections
npm run bench -- lag [--seconds 20]                                     the lag of a read model at 1,000 events/s
npm run bench -- delivery [--runs 3] [--seconds 20]                     the time from post to runner at 100 deliveries/s
npm run bench -- fairness [--runs 3] [--seconds 5]                       deliveries of a tenant while another one uses all it can get
npm run bench -- consoles [--runs 3] [--seconds 5]                       the processor time that ten open consoles cost
npm run bench -- console-pages [--seconds 5]                             the time that pages of the console take, one by one
npm run bench -- lists [--agents 1000000]                               list pages as the number of agents grows
npm run bench -- scheduler [--jobs 1000000]                             the scheduler as the number of idle cron jobs grows
npm run bench -- autocomplete [--agents 100000]                         the completion of names over HTTP, for an owner and a member
npm run bench -- proofs [--events 10000000]                             proofs of the audit log, and the signing of heads`;

const SIZES = { tenants: 20, integrations: 100 };
const WARMUP_SECONDS = 2;

const printLine = (line: string): void => void process.stderr.write(`${line}\n`);

const parseCount = (text: string, name: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a positive integer`);
  return value;
};

const selectWorkloads = (names: readonly string[]) => {
  const unknown = names.find((name) => !workloads.some((workload) => workload.name === name));
  if (unknown) throw new Error(`unknown workload ${unknown}\n${USAGE}`);
  return names.length === 0 ? workloads : workloads.filter(({ name }) => names.includes(name));
};

type BenchOptions = {
  readonly selected: ReturnType<typeof selectWorkloads>;
  readonly runs: number;
  readonly seconds: number;
  readonly agents: number;
};

type Measurements = { readonly results: Map<string, Figures[]>; readonly costs: Map<string, Record<string, number>[]> };

const append = <T>(to: Map<string, T[]>, name: string, one: T): void => void to.set(name, [...(to.get(name) ?? []), one]);

/**
 * Returns the processor time that each process of the platform has used so far, in microseconds. It includes background
 * work.
 */
const processorTimes = ({ platform }: Bench): Record<string, number> =>
  Object.fromEntries(Object.entries(platform.pids()).map(([name, pid]) => [name, pid ? processorTimeOf(pid) : Number.NaN]));

const runOnce = async (bench: Bench, workload: Workload): Promise<{ figures: Figures; cost: Record<string, number>; settling: number }> => {
  const before = processorTimes(bench);
  const { sent, ...figures } = await workload.run(bench);
  const settling = workload.writes ? await waitUntilIdle(bench) : 0;
  const after = processorTimes(bench);
  const cost = Object.fromEntries(Object.entries(after).map(([name, time]) => [name, (time - before[name]!) / sent]));
  return { figures, cost, settling };
};

/**
 * Measures every limit and every workload once per run, so that a slow phase of the machine affects all of them alike.
 */
const measure = async (bench: Bench, { selected, runs }: BenchOptions): Promise<Measurements> => {
  const measured: Measurements = { results: new Map(), costs: new Map() };
  const add = (name: string, figures: Figures): void => {
    append(measured.results, name, figures);
    printLine(`${name}: ${Math.round(figures.rate)}/s, p50 ${figures.p50.toFixed(2)}, p99 ${figures.p99.toFixed(2)} ms`);
  };
  const needed = limits.filter(({ workloads }) => selected.some(({ name }) => workloads.includes(name)));
  for (let run = 0; run < runs; run++) {
    for (const limit of needed) add(limit.name, await limit.run(bench));
    for (const workload of selected) {
      const { figures, cost, settling } = await runOnce(bench, workload);
      add(workload.name, figures);
      if (workload.writes) printLine(`   read models and broker had caught up ${settling.toFixed(1)} s later`);
      append(measured.costs, workload.name, cost);
    }
  }
  return measured;
};

const platformBench = async (options: BenchOptions): Promise<string> => {
  printLine(`starting the platform with ${options.agents} agents`);
  const platform = await startPlatform();
  const dataset = await fillPlatform(platform.port, platform.key, { ...SIZES, agents: options.agents });
  const bench: Bench = { platform, dataset, seconds: options.seconds, warmup: WARMUP_SECONDS };
  await waitUntilIdle(bench);
  const peaks: Record<string, number> = {};
  const watch = watchMemory(platform.pids, peaks);
  watch.sample();
  const atRest = { ...peaks };
  const { results, costs } = await measure(bench, options);
  watch.stop();
  const environment = `Node ${process.versions.node}, ${availableParallelism()} cores, ${options.runs} runs of ${options.seconds} s, medians`;
  return [environment, resultTable(results), costTable(costs, Object.keys(peaks)), memoryTable(atRest, peaks)].join('\n\n');
};

const exit = async (code: number): Promise<never> => {
  killHelpers();
  await stopPrograms();
  process.exit(code);
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    runs: { type: 'string', default: '3' },
    agents: { type: 'string' },
    events: { type: 'string' },
    jobs: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});

const rebuild = async (events: number): Promise<string> => {
  const { catchUp, rebuild, ratio, memoryMb } = await (await import('./rebuild.ts')).rebuildBench(events);
  const figures = [events, catchUp, rebuild, ratio, memoryMb.max].map(String);
  return table(['events', 'bare catch-up /s', 'rebuild /s', 'ratio', 'memory, MiB'], [figures]);
};

const lag = async (seconds: number): Promise<string> => {
  const { perSecond, events, p50, p99, max } = await (await import('./lag.ts')).lagBench(1_000, seconds);
  return table(['events/s', 'events', 'p50 ms', 'p99 ms', 'max ms'], [[perSecond, events, p50, p99, max].map(String)]);
};

const sizeTable = (what: string, count: number, figures: readonly SizeFigures[]): string => {
  const rows = figures.map(({ name, small, large }) => [name, small.toFixed(0), large.toFixed(0), (large / small).toFixed(2)]);
  return table([what, '10,000: µs', `${count}: µs`, 'ratio'], rows);
};

const lists = async (agents: number): Promise<string> => sizeTable('agents', agents, await (await import('./lists.ts')).listBench(agents));

const scheduler = async (jobs: number): Promise<string> =>
  sizeTable('cron jobs', jobs, await (await import('./lists.ts')).idleSchedulerBench(jobs));

const proofs = async (events: number): Promise<string> => {
  const { median, p99, longest, blocks, headTime, headProcessorTime } = await (await import('./audit-proofs.ts')).proofBench(events);
  return [
    `a proof among ${events} entries: median ${median.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, longest ${longest.toFixed(2)} ms, ${blocks.toFixed(0)} blocks read`,
    `signing heads: ${headTime.toFixed(2)} µs for each event, of it ${headProcessorTime.toFixed(2)} µs of the worker's processor`,
  ].join('\n');
};

const autocomplete = async (agents: number): Promise<string> => {
  const { autocompleteBench, MAX_P99_MS } = await import('./autocomplete.ts');
  const figures = await autocompleteBench(agents);
  const slowest = Math.max(...figures.map(({ p99 }) => p99));
  const verdict = `${slowest < MAX_P99_MS ? 'pass' : 'FAIL'}: the slowest p99 is ${slowest.toFixed(2)} ms; the limit is ${MAX_P99_MS} ms (processes for each processor in the last minute: ${loadFactor().toFixed(1)})`;
  return `${table(
    ['caller', 'text', 'found', 'p50 ms', 'p99 ms', `p99 < ${MAX_P99_MS} ms`],
    figures.map(({ caller, text, found, p50, p99 }) => [
      ...[caller, text, String(found), p50.toFixed(2), p99.toFixed(2), p99 < MAX_P99_MS ? 'pass' : 'FAIL'],
    ]),
  )}\n${verdict}`;
};

const bench = async (): Promise<string> => {
  if (values.help) return USAGE;
  const [first] = positionals;
  const runs = parseCount(values.runs, 'runs');
  if (first === 'rebuild') return rebuild(parseCount(values.events ?? '1000000', 'events'));
  if (first === 'growth') return (await import('./growth.ts')).growthBench(parseCount(values.events ?? '10000000', 'events'));
  if (first === 'lag') return lag(parseCount(values.seconds, 'seconds'));
  if (first === 'delivery') return (await import('./delivery.ts')).deliveryBench(runs, parseCount(values.seconds, 'seconds'));
  if (first === 'fairness') return (await import('./fairness.ts')).fairnessBench(runs, parseCount(values.seconds, 'seconds'));
  if (first === 'consoles') return (await import('./consoles.ts')).consolesBench(runs, parseCount(values.seconds, 'seconds'));
  if (first === 'console-pages') return (await import('./console-pages.ts')).consolePagesBench(parseCount(values.seconds, 'seconds'));
  if (first === 'scheduler') return scheduler(parseCount(values.jobs ?? '1000000', 'jobs'));
  if (first === 'lists') return lists(parseCount(values.agents ?? '1000000', 'agents'));
  if (first === 'proofs') return proofs(parseCount(values.events ?? '10000000', 'events'));
  if (first === 'autocomplete') return autocomplete(parseCount(values.agents ?? '100000', 'agents'));
  if (first === 'store') return (await import('./store.ts')).storeBench(runs);
  const selected = selectWorkloads(positionals);
  return platformBench({
    selected,
    runs,
    seconds: parseCount(values.seconds, 'seconds'),
    agents: parseCount(values.agents ?? '10000', 'agents'),
  });
};

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void exit(1));
try {
  console.log(await bench());
  await exit(0);
} catch (error) {
  printLine((error as Error).message);
  await exit(1);
}
