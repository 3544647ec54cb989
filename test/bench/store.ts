import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../infra/process.ts';
import { type Program, root } from '../process.ts';
import { annals, scratch, tracked } from './annals.ts';
import { count, median, milliseconds, ratio, table } from './format.ts';
import { memoryOf } from './processes.ts';

/** Where the scripts lie that drive any event store through the unchanged client. */
const scripts = join(root, '../shared/bench/store');

type Contender = {
  readonly name: 'embedded' | 'yardstick';
  readonly serve: (dir: string, port: number) => Program;
  readonly says: RegExp;
};

const contenders: readonly Contender[] = [
  {
    name: 'embedded',
    serve: (dir, port) => annals(['store', 'serve', '--dir', join(dir, 'store'), '--port', String(port), '--open']),
    says: /^store ready/m,
  },
  {
    name: 'yardstick',
    serve: (dir, port) => tracked([join(scripts, 'yardstick.cjs'), '--port', String(port), '--db', join(dir, 'db')]),
    says: /^listening/m,
  },
];

const REPETITIONS = 4;
const NEW_STREAMS = 100_000;
const BURST = /^(.+?): best [\d.]+\/s median ([\d.]+)\/s(?: \| p50 best [\d.]+ median ([\d.]+) ms \| p99 best [\d.]+ median ([\d.]+) ms)?/;
const STREAMS = /^(new streams|redeliveries)[^:]*: (\d+)\/s p50 ([\d.]+) p99 ([\d.]+)/;

type Row = { readonly rate: number; readonly p50: number; readonly p99: number };
type Rows = Map<string, Row[]>;

const add = (rows: Rows, name: string, [rate, p50, p99]: readonly (string | undefined)[]): void => {
  const row = { rate: Number(rate), p50: Number(p50 ?? Number.NaN), p99: Number(p99 ?? Number.NaN) };
  rows.set(name, [...(rows.get(name) ?? []), row]);
};

/** Runs a script against a server to its end, and keeps each line that bears figures. */
const drive = async (script: string, args: readonly string[], shape: RegExp, rows: Rows): Promise<void> => {
  const run = tracked([join(scripts, script), ...args]);
  const code = await run.ended;
  if (code !== 0) throw new Error(`${script} ended with ${code}: ${run.output()}`);
  for (const line of run.output().split('\n')) {
    const found = shape.exec(line);
    if (found) add(rows, found[1]!, found.slice(2));
  }
};

const fresh = async (contender: Contender, use: (url: string, pid: number) => Promise<void>): Promise<void> => {
  const { dir, clear } = scratch();
  const port = await freePort();
  const server = contender.serve(dir, port);
  try {
    await server.says(contender.says);
    await use(`esdb://127.0.0.1:${port}?tls=false`, server.child.pid!);
  } finally {
    await server.stop();
    clear();
  }
};

const measure = async (contender: Contender, rows: Rows): Promise<void> => {
  await fresh(contender, async (url, pid) => {
    await drive('bursts.cjs', [url, String(pid), String(REPETITIONS)], BURST, rows);
    add(rows, 'memory after bursts, MiB', [String(memoryOf(pid))]);
  });
  await fresh(contender, async (url, pid) => {
    await drive('new-streams.mjs', [url, String(NEW_STREAMS)], STREAMS, rows);
    add(rows, 'memory after new streams, MiB', [String(memoryOf(pid))]);
  });
};

const middle = (rows: readonly Row[], of: keyof Row): number => median(rows.map((row) => row[of]));

const cells = (ours: readonly Row[], theirs: readonly Row[]): string[] => [
  count(middle(ours, 'rate')),
  count(middle(theirs, 'rate')),
  ratio(median(ours.map(({ rate }, run) => rate / theirs[run]!.rate))),
  milliseconds(middle(ours, 'p50')),
  milliseconds(middle(ours, 'p99')),
  milliseconds(middle(theirs, 'p99')),
];

const HEAD = ['workload', 'embedded /s', 'yardstick /s', 'ratio', 'p50 ms', 'p99 ms', 'p99 yardstick'];

/** The embedded store beside a plain one, run by run. */
export const storeBench = async (runs: number): Promise<string> => {
  if (!existsSync(scripts)) return `skipped: the store's benchmarks are not at ${scripts}`;
  const rows: Record<Contender['name'], Rows> = { embedded: new Map(), yardstick: new Map() };
  for (let run = 0; run < runs; run++) {
    for (const contender of contenders) {
      process.stderr.write(`run ${run + 1} of ${runs}: ${contender.name}\n`);
      await measure(contender, rows[contender.name]);
    }
  }
  return table(
    HEAD,
    [...rows.embedded].map(([name, ours]) => [name, ...cells(ours, rows.yardstick.get(name) ?? [])]),
  );
};
