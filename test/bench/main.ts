import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { startAnnals, stopPrograms } from './annals.ts';
import { fill } from './fixture.ts';
import { median } from './format.ts';
import { limits } from './limits.ts';
import type { Figures } from './load.ts';
import { endHelpers } from './measure.ts';
import { watchMemory } from './memory.ts';
import { memoryTable, resultTable } from './report.ts';
import { type Bench, settled, workloads } from './workloads.ts';

const USAGE = `npm run bench -- [W1 … W6] [--seconds 5] [--runs 3] [--agents 10000]   the service beside its limits
npm run bench -- store [--runs 3]                                       the embedded event store beside a plain one
npm run bench -- rebuild                                                the projections from nothing`;

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

/** Each run measures every limit and every workload once, so that a slow spell of the machine hits all alike. */
const measure = async (bench: Bench, { work, runs }: Wanted): Promise<Map<string, Figures[]>> => {
  const results = new Map<string, Figures[]>();
  const note = (name: string, figures: Figures): void => {
    results.set(name, [...(results.get(name) ?? []), figures]);
    say(`${name}: ${Math.round(figures.rate)}/s, p50 ${figures.p50.toFixed(2)}, p99 ${figures.p99.toFixed(2)} ms`);
  };
  const needed = limits.filter(({ under }) => work.some(({ name }) => under.includes(name)));
  const settling: number[] = [];
  for (let run = 0; run < runs; run++) {
    for (const limit of needed) note(limit.name, await limit.run(bench));
    for (const workload of work) {
      note(workload.name, await workload.run(bench));
      if (workload.writes) settling.push(await settled(bench));
    }
  }
  if (settling.length > 0) say(`views and broker had all of it ${median(settling).toFixed(1)} s after a workload that writes`);
  return results;
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
  const results = await measure(bench, wanted);
  watched.stop();
  const ground = `Node ${process.versions.node}, ${availableParallelism()} cores, ${wanted.runs} runs of ${wanted.seconds} s, medians`;
  return [ground, resultTable(results), memoryTable(atRest, most)].join('\n\n');
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
    help: { type: 'boolean', short: 'h' },
  },
});

const bench = async (): Promise<string> => {
  if (values.help) return USAGE;
  const [first] = positionals;
  const runs = number(values.runs, 'runs');
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
