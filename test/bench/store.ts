import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../infra/supervision/ports.ts';
import { type Program, root } from '../fixtures/child-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { count, median, milliseconds, ratio, table } from './format.ts';
import { startCommand, startTracked } from './platform.ts';
import { memoryOf } from './processes.ts';

/**
 * A directory outside this repository, with the scripts that put load on an event store through the unmodified
 * EventStoreDB client, and with a store to compare with (yardstick.cjs).
 */
const scripts = join(root, '../shared/bench/store');

type Candidate = {
  readonly name: 'embedded' | 'yardstick' | 'null';
  readonly serve: (dir: string, port: number) => Program;
  readonly readyLine: RegExp;
};

const stores: readonly Candidate[] = [
  {
    name: 'embedded',
    serve: (dir, port) => startCommand(['store', 'serve', '--dir', join(dir, 'store'), '--port', String(port), '--open']),
    readyLine: /^store ready/m,
  },
  {
    name: 'yardstick',
    serve: (dir, port) => startTracked([join(scripts, 'yardstick.cjs'), '--port', String(port), '--db', join(dir, 'db')]),
    readyLine: /^listening/m,
  },
];

/** A store that writes nothing to disk. Its speed shows the highest speed that the client can reach. */
const nullStore: Candidate = {
  name: 'null',
  serve: (_, port) => startTracked([join(import.meta.dirname, 'null-store.ts'), String(port), EVENTS_READ]),
  readyLine: /^listening/m,
};

/**
 * The number of turns that each store gets in a run. Several short turns are better than a long one, because the speed
 * of a shared machine changes within seconds.
 */
const TURNS_PER_RUN = 3;
const REPETITIONS = 4;
/** The number of events that one read in the script bursts.cjs returns. */
const EVENTS_READ = '50000';
const NEW_STREAMS = 500_000;
const BURST = /^(.+?): best [\d.]+\/s median ([\d.]+)\/s(?: \| p50 best [\d.]+ median ([\d.]+) ms \| p99 best [\d.]+ median ([\d.]+) ms)?/;
const STREAMS = /^(new streams at \d+|redeliveries)[^:]*: (\d+)\/s p50 ([\d.]+) p99 ([\d.]+)/;

type Row = { readonly rate: number; readonly p50: number; readonly p99: number };
type Rows = Map<string, Row[]>;

const add = (rows: Rows, name: string, [rate, p50, p99]: readonly (string | undefined)[]): void => {
  const row = { rate: Number(rate), p50: Number(p50 ?? Number.NaN), p99: Number(p99 ?? Number.NaN) };
  rows.set(name, [...(rows.get(name) ?? []), row]);
};

/** Runs a script and collects the figures from the output lines that match `shape`. */
const runScript = async (script: string, args: readonly string[], shape: RegExp, rows: Rows): Promise<void> => {
  const run = startTracked([join(scripts, script), ...args], { N: EVENTS_READ });
  const code = await run.ended;
  if (code !== 0) throw new Error(`${script} ended with ${code}: ${run.output()}`);
  for (const line of run.output().split('\n')) {
    const found = shape.exec(line);
    if (found) add(rows, found[1]!, found.slice(2));
  }
};

type Server = { readonly candidate: Candidate; readonly url: string; readonly pid: number; readonly end: () => Promise<void> };

const start = async (candidate: Candidate): Promise<Server> => {
  const { dir, clear } = createTempDirectory();
  const port = await freePort();
  const server = candidate.serve(dir, port);
  await server.waitForOutput(candidate.readyLine);
  const end = async () => {
    await server.stop();
    clear();
  };
  return { candidate, url: `esdb://127.0.0.1:${port}?tls=false`, pid: server.child.pid!, end };
};

type Figures = Record<Candidate['name'], Rows>;

/** Starts all stores and measures them in turn. The other stores are idle meanwhile. */
const runBursts = async (turns: number, figures: Figures): Promise<void> => {
  const servers: Server[] = [];
  for (const candidate of [...stores, nullStore]) servers.push(await start(candidate));
  for (let turn = 0; turn < turns; turn++) {
    process.stderr.write(`bursts, turn ${turn + 1} of ${turns}\n`);
    for (const { candidate, url, pid } of servers) {
      await runScript('bursts.cjs', [url, String(pid), String(REPETITIONS)], BURST, figures[candidate.name]);
      add(figures[candidate.name], 'memory after bursts, MiB', [String(memoryOf(pid))]);
    }
  }
  for (const { end } of servers) await end();
};

const runNewStreams = async (candidate: Candidate, rows: Rows): Promise<void> => {
  const { url, pid, end } = await start(candidate);
  await runScript('new-streams.mjs', [url, String(NEW_STREAMS)], STREAMS, rows);
  add(rows, 'memory after new streams, MiB', [String(memoryOf(pid))]);
  await end();
};

const medianOf = (rows: readonly Row[], of: keyof Row): number => median(rows.map((row) => row[of]));

const ratioBetween = (rows: readonly Row[], theirs: readonly Row[]): string =>
  ratio(median(rows.map(({ rate }, run) => rate / theirs[run]!.rate)));

const cells = (ours: readonly Row[], theirs: readonly Row[], nullRows: readonly Row[]): string[] => [
  count(medianOf(ours, 'rate')),
  count(medianOf(theirs, 'rate')),
  ratioBetween(ours, theirs),
  ratioBetween(nullRows, theirs),
  milliseconds(medianOf(ours, 'p50')),
  milliseconds(medianOf(ours, 'p99')),
  milliseconds(medianOf(theirs, 'p99')),
];

const HEAD = ['workload', 'embedded /s', 'yardstick /s', 'ratio', 'null store', 'p50 ms', 'p99 ms', 'p99 yardstick'];

/**
 * Compares the embedded store with a simple store, the yardstick. Both are measured in turn, and so is the null store,
 * which stores nothing. The ratio of the null store to the yardstick is the highest that any store can reach with this
 * client. @returns a table of the figures as text
 */
export const storeBench = async (runs: number): Promise<string> => {
  if (!existsSync(scripts)) return `skipped: the store's benchmarks are not at ${scripts}`;
  const figures: Figures = { embedded: new Map(), yardstick: new Map(), null: new Map() };
  await runBursts(runs * TURNS_PER_RUN, figures);
  for (let run = 0; run < runs; run++) {
    process.stderr.write(`new streams, run ${run + 1} of ${runs}\n`);
    for (const candidate of stores) await runNewStreams(candidate, figures[candidate.name]);
  }
  return table(
    HEAD,
    [...figures.embedded].map(([name, ours]) => [name, ...cells(ours, figures.yardstick.get(name) ?? [], figures.null.get(name) ?? [])]),
  );
};
