import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../infra/supervision/ports.ts';
import { type Program, root } from '../fixtures/child-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { count, median, milliseconds, ratio, table } from './format.ts';
import { annals, tracked } from './platform.ts';
import { memoryOf } from './processes.ts';

/** Where the scripts lie that drive any event store through the unchanged client. */
const scripts = join(root, '../shared/bench/store');

type Contender = {
  readonly name: 'embedded' | 'yardstick' | 'null';
  readonly serve: (dir: string, port: number) => Program;
  readonly says: RegExp;
};

const stores: readonly Contender[] = [
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

/** No store at all: by it one sees what the client itself takes. */
const nothing: Contender = {
  name: 'null',
  serve: (_, port) => tracked([join(import.meta.dirname, 'null-store.ts'), String(port), READ]),
  says: /^listening/m,
};

/** Short turns, and many: a shared machine changes its speed within seconds. In its first repetitions the client is still being compiled. */
const TURNS_A_RUN = 3;
const REPETITIONS = 4;
/** Events that a burst reads. */
const READ = '50000';
const NEW_STREAMS = 500_000;
const BURST = /^(.+?): best [\d.]+\/s median ([\d.]+)\/s(?: \| p50 best [\d.]+ median ([\d.]+) ms \| p99 best [\d.]+ median ([\d.]+) ms)?/;
const STREAMS = /^(new streams at \d+|redeliveries)[^:]*: (\d+)\/s p50 ([\d.]+) p99 ([\d.]+)/;

type Row = { readonly rate: number; readonly p50: number; readonly p99: number };
type Rows = Map<string, Row[]>;

const add = (rows: Rows, name: string, [rate, p50, p99]: readonly (string | undefined)[]): void => {
  const row = { rate: Number(rate), p50: Number(p50 ?? Number.NaN), p99: Number(p99 ?? Number.NaN) };
  rows.set(name, [...(rows.get(name) ?? []), row]);
};

/** Runs a script against a server to its end, and keeps each line that bears figures. */
const drive = async (script: string, args: readonly string[], shape: RegExp, rows: Rows): Promise<void> => {
  const run = tracked([join(scripts, script), ...args], { N: READ });
  const code = await run.ended;
  if (code !== 0) throw new Error(`${script} ended with ${code}: ${run.output()}`);
  for (const line of run.output().split('\n')) {
    const found = shape.exec(line);
    if (found) add(rows, found[1]!, found.slice(2));
  }
};

type Server = { readonly contender: Contender; readonly url: string; readonly pid: number; readonly end: () => Promise<void> };

const start = async (contender: Contender): Promise<Server> => {
  const { dir, clear } = createTempDirectory();
  const port = await freePort();
  const server = contender.serve(dir, port);
  await server.waitForOutput(contender.says);
  const end = async () => {
    await server.stop();
    clear();
  };
  return { contender, url: `esdb://127.0.0.1:${port}?tls=false`, pid: server.child.pid!, end };
};

type Figures = Record<Contender['name'], Rows>;

/** All run throughout, and are driven in turn. */
const bursts = async (turns: number, figures: Figures): Promise<void> => {
  const servers: Server[] = [];
  for (const contender of [...stores, nothing]) servers.push(await start(contender));
  for (let turn = 0; turn < turns; turn++) {
    process.stderr.write(`bursts, turn ${turn + 1} of ${turns}\n`);
    for (const { contender, url, pid } of servers) {
      await drive('bursts.cjs', [url, String(pid), String(REPETITIONS)], BURST, figures[contender.name]);
      add(figures[contender.name], 'memory after bursts, MiB', [String(memoryOf(pid))]);
    }
  }
  for (const { end } of servers) await end();
};

const newStreams = async (contender: Contender, rows: Rows): Promise<void> => {
  const { url, pid, end } = await start(contender);
  await drive('new-streams.mjs', [url, String(NEW_STREAMS)], STREAMS, rows);
  add(rows, 'memory after new streams, MiB', [String(memoryOf(pid))]);
  await end();
};

const middle = (rows: readonly Row[], of: keyof Row): number => median(rows.map((row) => row[of]));

const beside = (rows: readonly Row[], theirs: readonly Row[]): string =>
  ratio(median(rows.map(({ rate }, run) => rate / theirs[run]!.rate)));

const cells = (ours: readonly Row[], theirs: readonly Row[], none: readonly Row[]): string[] => [
  count(middle(ours, 'rate')),
  count(middle(theirs, 'rate')),
  beside(ours, theirs),
  beside(none, theirs),
  milliseconds(middle(ours, 'p50')),
  milliseconds(middle(ours, 'p99')),
  milliseconds(middle(theirs, 'p99')),
];

const HEAD = ['workload', 'embedded /s', 'yardstick /s', 'ratio', 'of no store', 'p50 ms', 'p99 ms', 'p99 yardstick'];

/** The embedded store beside a plain one, turn by turn; the ratio of no store is what the client leaves to be reached. */
export const storeBench = async (runs: number): Promise<string> => {
  if (!existsSync(scripts)) return `skipped: the store's benchmarks are not at ${scripts}`;
  const figures: Figures = { embedded: new Map(), yardstick: new Map(), null: new Map() };
  await bursts(runs * TURNS_A_RUN, figures);
  for (let run = 0; run < runs; run++) {
    process.stderr.write(`new streams, run ${run + 1} of ${runs}\n`);
    for (const contender of stores) await newStreams(contender, figures[contender.name]);
  }
  return table(
    HEAD,
    [...figures.embedded].map(([name, ours]) => [name, ...cells(ours, figures.yardstick.get(name) ?? [], figures.null.get(name) ?? [])]),
  );
};
