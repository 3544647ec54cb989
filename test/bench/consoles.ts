import type { ConsoleJob } from './console-process.ts';
import { call, type Dataset, fillPlatform } from './dataset.ts';
import { count, median, milliseconds, ratio, table } from './format.ts';
import type { Figures } from './load.ts';
import { nextMessage, runLoadProcess, startHelper } from './measure.ts';
import { type RunningPlatform, startPlatform } from './platform.ts';
import { processorTimeOf } from './processes.ts';
import { type Bench, deliveryRequests, waitUntilIdle } from './workloads.ts';

const SIZES = { tenants: 20, integrations: 100, agents: 4_000 };
const CONSOLES = 10;
const CONNECTIONS = 64;
const WARMUP_SECONDS = 2;
/** The loads: deliveries as fast as possible (the workload W1), and at a fixed rate per second. */
const LOADS = { W1: undefined, '200/s': 200 } as const;

type Measurement = {
  /** The processor time of each process in microseconds per delivery. */
  readonly cost: Readonly<Record<string, number>>;
  readonly deliveries: Figures;
  /** The pages that the consoles have fetched; null without consoles. */
  readonly pages: Figures | null;
};

/** Signs in to the console. @returns the session cookie */
export const signIn = async ({ port }: RunningPlatform, key: string): Promise<string> => {
  const own = { origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' };
  const { status, headers, text } = await call(port, '', 'POST', '/auth/key', JSON.stringify({ key }), own);
  if (status !== 204) throw new Error(`POST /auth/key returned ${status}: ${text}`);
  return headers.getSetCookie()[0]!.split(';')[0]!;
};

/**
 * Opens consoles that show the deliveries of a tenant.
 * @returns a function that closes them and returns their figures
 */
const openConsoles = async ({ platform, dataset }: Bench): Promise<() => Promise<Figures>> => {
  const { id, key } = dataset.tenants[0]!;
  const cookies: string[] = [];
  for (let number = 0; number < CONSOLES; number++) cookies.push(await signIn(platform, key));
  const helper = startHelper('console-process.ts');
  helper.send({ port: platform.port, path: `/console/t/${id}/deliveries`, cookies } satisfies ConsoleJob);
  await nextMessage(helper);
  return () => {
    helper.send({});
    return nextMessage<Figures>(helper);
  };
};

const processorTimes = ({ platform }: Bench): Record<string, number> =>
  Object.fromEntries(Object.entries(platform.pids()).map(([name, pid]) => [name, pid ? processorTimeOf(pid) : Number.NaN]));

/** Sends deliveries with or without open consoles, and waits until the read models contain them. */
const measure = async (bench: Bench, rate: number | undefined, withConsoles: boolean): Promise<Measurement> => {
  const { platform, dataset, seconds, warmup } = bench;
  const close = withConsoles ? await openConsoles(bench) : null;
  const before = processorTimes(bench);
  const requests = deliveryRequests(dataset, 'each');
  const job = { port: platform.port, warmup, seconds, connections: CONNECTIONS, requests };
  const { sent, ...deliveries } = await runLoadProcess(rate === undefined ? job : { ...job, rate });
  await waitUntilIdle(bench);
  const after = processorTimes(bench);
  const cost = Object.fromEntries(Object.entries(after).map(([name, time]) => [name, (time - before[name]!) / sent]));
  return { cost, deliveries, pages: (await close?.()) ?? null };
};

const total = ({ cost }: Measurement): number => Object.values(cost).reduce((sum, each) => sum + each, 0);

const lineOf = (name: string, one: Measurement, without: Measurement | null): string[] => [
  name,
  count(one.deliveries.rate),
  milliseconds(one.deliveries.p99),
  ...Object.values(one.cost).map(count),
  count(total(one)),
  without ? ratio(total(one) / total(without)) : '',
  ...(one.pages ? [one.pages.rate.toFixed(1), milliseconds(one.pages.p50), milliseconds(one.pages.p99)] : ['', '', '']),
];

/**
 * Measures what ten open consoles cost that show the deliveries of one tenant of twenty, while deliveries arrive. Each
 * run measures without and with consoles. @returns a table of the figures as text
 */
export const consolesBench = async (runs: number, seconds: number): Promise<string> => {
  const platform = await startPlatform();
  const dataset: Dataset = await fillPlatform(platform.port, platform.key, SIZES);
  const bench: Bench = { platform, dataset, seconds, warmup: WARMUP_SECONDS };
  await waitUntilIdle(bench);
  const processes = Object.keys(platform.pids());
  const rows: string[][] = [];
  for (const [load, rate] of Object.entries(LOADS)) {
    const ratios: number[] = [];
    for (let run = 1; run <= runs; run++) {
      const without = await measure(bench, rate, false);
      const withConsoles = await measure(bench, rate, true);
      ratios.push(total(withConsoles) / total(without));
      rows.push(lineOf(`${load}, run ${run}`, without, null), lineOf('   with consoles', withConsoles, without));
    }
    rows.push([`${load}: median ratio`, ...Array<string>(processes.length + 3).fill(''), ratio(median(ratios)), '', '', '']);
  }
  const head = [
    'load',
    'deliveries/s',
    'p99 ms',
    ...processes.map((name) => `${name} µs`),
    'all µs',
    'ratio',
    'pages/s',
    'p50 ms',
    'p99 ms',
  ];
  return table(head, rows);
};
