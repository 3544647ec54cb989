import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { fill } from './dataset.ts';
import { table } from './format.ts';
import { limits } from './limits.ts';
import type { Figures } from './load.ts';
import { endHelpers } from './measure.ts';
import { startAnnals, stopPrograms } from './platform.ts';
import { processorTimeOf, watchMemory } from './processes.ts';
import { costTable, memoryTable, resultTable } from './report.ts';
import { type Bench, settled, type Workload, workloads } from './workloads.ts';

const USAGE = `npm run bench -- [W1 … W6] [--seconds 5] [--runs 3] [--agents 10000]   the service beside its limits
npm run bench -- store [--runs 3]                                       the embedded event store beside a plain one
npm run bench -- growth [--events 10000000]                             the embedded event store as its log grows
npm run bench -- rebuild [--events 1000000]                             the projections from nothing
npm run bench -- lag [--seconds 20]                                     how far a live view is behind at 1,000 events/s`;

const SIZES = { tenants: 20, integrations: 100 };
const WARMUP_SECONDS = 2;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const number = (text: string, name: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1 on`);
  return value;
};

const chosen = (names: readonly string[]) => {
  const unknown = names.find((name) => !workloads.some((workload) => workload.name === name));
  if (unknown) throw new Error(`there is no workload ${unknown}\n${USAGE}`);
  return names.length === 0 ? workloads : workloads.filter(({ name }) => names.includes(name));
};

type Wanted = { readonly work: ReturnType<typeof chosen>; readonly runs: number; readonly seconds: number; readonly agents: number };

type Measured = { readonly results: Map<string, Figures[]>; readonly costs: Map<string, Record<string, number>[]> };

const add = <T>(to: Map<string, T[]>, name: string, one: T): void => void to.set(name, [...(to.get(name) ?? []), one]);

/** What each process of the platform has spent so far; what it writes in the background counts as part of the request. */
const spent = ({ annals }: Bench): Record<string, number> =>
  Object.fromEntries(Object.entries(annals.pids()).map(([name, pid]) => [name, pid ? processorTimeOf(pid) : Number.NaN]));

const runOnce = async (bench: Bench, workload: Workload): Promise<{ figures: Figures; cost: Record<string, number>; settling: number }> => {
  const before = spent(bench);
  const { sent, ...figures } = await workload.run(bench);
  const settling = workload.writes ? await settled(bench) : 0;
  const after = spent(bench);
  const cost = Object.fromEntries(Object.entries(after).map(([name, time]) => [name, (time - before[name]!) / sent]));
  return { figures, cost, settling };
};

/** Each run measures every limit and every workload once, so that a slow spell of the machine hits all alike. */
const measure = async (bench: Bench, { work, runs }: Wanted): Promise<Measured> => {
  const measured: Measured = { results: new Map(), costs: new Map() };
  const note = (name: string, figures: Figures): void => {
    add(measured.results, name, figures);
    say(`${name}: ${Math.round(figures.rate)}/s, p50 ${figures.p50.toFixed(2)}, p99 ${figures.p99.toFixed(2)} ms`);
  };
  const needed = limits.filter(({ under }) => work.some(({ name }) => under.includes(name)));
  for (let run = 0; run < runs; run++) {
    for (const limit of needed) note(limit.name, await limit.run(bench));
    for (const workload of work) {
      const { figures, cost, settling } = await runOnce(bench, workload);
      note(workload.name, figures);
      if (workload.writes) say(`   views and broker had all of it ${settling.toFixed(1)} s later`);
      add(measured.costs, workload.name, cost);
    }
  }
  return measured;
};

const service = async (wanted: Wanted): Promise<string> => {
  say(`starts the platform with ${wanted.agents} agents`);
  const platform = await startAnnals();
  const fixture = await fill(platform.port, platform.key, { ...SIZES, agents: wanted.agents });
  const bench: Bench = { annals: platform, fixture, seconds: wanted.seconds, warmup: WARMUP_SECONDS };
  await settled(bench);
  const most: Record<string, number> = {};
  const watched = watchMemory(platform.pids, most);
  watched.look();
  const atRest = { ...most };
  const { results, costs } = await measure(bench, wanted);
  watched.stop();
  const ground = `Node ${process.versions.node}, ${availableParallelism()} cores, ${wanted.runs} runs of ${wanted.seconds} s, medians`;
  return [ground, resultTable(results), costTable(costs, Object.keys(most)), memoryTable(atRest, most)].join('\n\n');
};

const leave = async (code: number): Promise<never> => {
  endHelpers();
  await stopPrograms();
  process.exit(code);
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    runs: { type: 'string', default: '3' },
    agents: { type: 'string', default: '10000' },
    events: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});

const rebuild = async (events: number): Promise<string> => {
  const { catchUp, rebuild, ratio, memoryMb } = await (await import('./rebuild.ts')).rebuildBench(events);
  const figures = [events, catchUp, rebuild, ratio, memoryMb.most].map(String);
  return table(['events', 'bare catch-up /s', 'rebuild /s', 'ratio', 'memory, MiB'], [figures]);
};

const lag = async (seconds: number): Promise<string> => {
  const { perSecond, events, p50, p99, most } = await (await import('./lag.ts')).lagBench(1_000, seconds);
  return table(['events/s', 'events', 'p50 ms', 'p99 ms', 'most ms'], [[perSecond, events, p50, p99, most].map(String)]);
};

const bench = async (): Promise<string> => {
  if (values.help) return USAGE;
  const [first] = positionals;
  const runs = number(values.runs, 'runs');
  if (first === 'rebuild') return rebuild(number(values.events ?? '1000000', 'events'));
  if (first === 'growth') return (await import('./growth.ts')).growthBench(number(values.events ?? '10000000', 'events'));
  if (first === 'lag') return lag(number(values.seconds, 'seconds'));
  if (first === 'store') return (await import('./store.ts')).storeBench(runs);
  const work = chosen(positionals);
  return service({ work, runs, seconds: number(values.seconds, 'seconds'), agents: number(values.agents, 'agents') });
};

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void leave(1));
try {
  console.log(await bench());
  await leave(0);
} catch (error) {
  say((error as Error).message);
  await leave(1);
}
