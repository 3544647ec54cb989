import { encodeRequest } from './connection.ts';
import { signIn } from './consoles.ts';
import { call, fillPlatform } from './dataset.ts';
import { milliseconds, table } from './format.ts';
import type { Figures } from './load.ts';
import { runLoadProcess } from './measure.ts';
import { type RunningPlatform, startPlatform } from './platform.ts';
import { memoryOf } from './processes.ts';
import { deliveryRequests, waitUntilIdle } from './workloads.ts';

const SIZES = { tenants: 2, integrations: 20, agents: 400 };
const WARMUP_SECONDS = 1;
/** The budgets in milliseconds: of a list with 50 rows, and of a page about one resource. */
const BUDGETS = { list: 5, detail: 10 } as const;

type Kind = keyof typeof BUDGETS;

const serveMemory = ({ pids }: RunningPlatform): number => memoryOf(pids().serve ?? 0);

/** Requests a page again and again over one connection, so that no request waits for another one. */
const measurePage = (port: number, path: string, { cookie, seconds }: { cookie: string; seconds: number }): Promise<Figures> => {
  const texts = [encodeRequest({ method: 'GET', path, headers: { cookie, 'accept-encoding': 'gzip' } })];
  return runLoadProcess({
    port,
    connections: 1,
    warmup: WARMUP_SECONDS,
    seconds,
    requests: { texts, order: 'turn', naming: 'each', run: '00000000' },
  });
};

/**
 * Measures the time in which the platform answers requests for pages of the console, one after another. Also measures
 * how much memory the process `serve` needs more after that. @returns a table of the figures as text
 */
export const consolePagesBench = async (seconds: number): Promise<string> => {
  const platform = await startPlatform();
  const { port } = platform;
  const dataset = await fillPlatform(port, platform.key, SIZES);
  await runLoadProcess({ port, warmup: 0, seconds: 2, connections: 8, requests: deliveryRequests(dataset, 'each') });
  await waitUntilIdle({ platform, dataset, seconds, warmup: 0 });
  const { id, key } = dataset.tenants[0]!;
  const cookie = await signIn(platform, key);
  const base = `/console/t/${id}`;
  const [delivery] = JSON.parse((await call(port, key, 'GET', `/tenant/${id}/deliveries?limit=1`)).text) as { id: string }[];
  const agent = dataset.agents.find(({ tenant }) => tenant === 0)!.id;
  const pages: readonly (readonly [string, string, Kind])[] = [
    ['deliveries', `${base}/deliveries`, 'list'],
    ['agents', `${base}/agents`, 'list'],
    ['integrations', `${base}/integrations`, 'list'],
    ['audit log', `${base}/audit`, 'list'],
    ['events', `${base}/events`, 'list'],
    ['overview', base, 'detail'],
    ['delivery', `${base}/deliveries/${delivery!.id}`, 'detail'],
    ['agent', `${base}/agents/${agent}`, 'detail'],
  ];
  const before = serveMemory(platform);
  const rows: string[][] = [];
  for (const [name, path, kind] of pages) {
    const { p50, p99, failed } = await measurePage(port, path, { cookie, seconds });
    if (failed > 0) throw new Error(`GET ${path} was refused ${failed} times`);
    rows.push([name, milliseconds(p50), milliseconds(p99), String(BUDGETS[kind])]);
  }
  const after = serveMemory(platform);
  const memory = `memory of serve: ${before.toFixed(0)} MiB before the first page, ${after.toFixed(0)} MiB after the last one`;
  return [table(['page', 'p50 ms', 'p99 ms', 'budget of p50'], rows), memory].join('\n');
};
