import { encodeRequest } from './connection.ts';
import { call, type Dataset, fillPlatform } from './dataset.ts';
import { count, milliseconds, table } from './format.ts';
import { type Figures, load } from './load.ts';
import { runLoadProcess } from './measure.ts';
import { startPlatform } from './platform.ts';
import { createRequestFactory, type RequestSet } from './request-names.ts';
import { type Bench, deliveryRequests, waitUntilIdle } from './workloads.ts';

const SIZES = { tenants: 2, agents: 1_000, integrations: 4 };
const [QUIET, LOUD] = [0, 1];
const QUIET_RATE = 20;
const CONNECTIONS = 8;
const WARMUP_SECONDS = 2;

/** Each `a` makes the matcher look for a `b` in the whole rest of the text, so the time is quadratic in its length. */
const SLOW_RULE = [{ name: 'slow', kind: 'pattern', options: { pattern: 'a.*b|a' }, action: 'label' }];

const ofTenant = ({ integrations, ...rest }: Dataset, tenant: number): Dataset => ({
  ...rest,
  integrations: integrations.filter((one) => one.tenant === tenant),
});

/** What the loud tenant, or a stranger who knows its addresses, does as fast as eight connections allow. */
type Noise = { readonly title: string; readonly requests: (dataset: Dataset) => RequestSet; readonly rules?: object[] };

const setOf = (texts: string[]): RequestSet => ({ texts, order: 'turn', naming: 'each', run: '00000000' });

const forged = ({ integrations }: Dataset): string[] =>
  integrations.map(({ id }) =>
    encodeRequest({
      method: 'POST',
      path: `/hooks/inbound/${id}`,
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
      body: '{}',
    }),
  );

const searches = ({ tenants }: Dataset): string[] => {
  const { id, key } = tenants[LOUD]!;
  const headers = { authorization: `Bearer ${key}` };
  return [encodeRequest({ method: 'GET', path: `/tenant/${id}/agents?q=a&limit=200`, headers })];
};

const NOISES: readonly Noise[] = [
  { title: 'signed deliveries', requests: (dataset) => deliveryRequests(dataset, 'each') },
  { title: 'signed deliveries with a slow rule', requests: (dataset) => deliveryRequests(dataset, 'each'), rules: SLOW_RULE },
  { title: 'forged deliveries', requests: (dataset) => setOf(forged(dataset)) },
  { title: 'searches of 200 agents', requests: (dataset) => setOf(searches(dataset)) },
];

/** Sends 20 signed deliveries per second of the quiet tenant. @returns the times of their responses */
const measureQuiet = ({ platform: { port }, dataset, seconds, warmup }: Bench): Promise<Figures> => {
  const request = createRequestFactory(deliveryRequests(ofTenant(dataset, QUIET), 'each'));
  return load({ port, warmup, seconds, connections: CONNECTIONS, rate: QUIET_RATE, request });
};

const setRules = async ({ platform: { port }, dataset }: Bench, rules: object[]): Promise<void> => {
  const { id, key } = dataset.tenants[LOUD]!;
  const { status, text } = await call(port, key, 'PUT', `/tenant/${id}/guardrails`, JSON.stringify(rules));
  if (status !== 200) throw new Error(`the guardrails were answered ${status}: ${text}`);
};

const measureBeside = async (bench: Bench, { requests, rules = [] }: Noise): Promise<{ quiet: Figures; loud: Figures }> => {
  await setRules(bench, rules);
  const { port } = bench.platform;
  const noise = { port, warmup: bench.warmup, seconds: bench.seconds, connections: CONNECTIONS };
  const [loud, quiet] = await Promise.all([
    runLoadProcess({ ...noise, requests: requests(ofTenant(bench.dataset, LOUD)) }),
    measureQuiet(bench),
  ]);
  await setRules(bench, []);
  await waitUntilIdle(bench);
  return { quiet, loud };
};

/**
 * Measures how long signed deliveries of a quiet tenant take alone, and while another tenant uses all that it can get.
 * @returns a table of the figures as text
 */
export const fairnessBench = async (runs: number, seconds: number): Promise<string> => {
  const platform = await startPlatform();
  const dataset = await fillPlatform(platform.port, platform.key, SIZES);
  const bench: Bench = { platform, dataset, seconds, warmup: WARMUP_SECONDS };
  await waitUntilIdle(bench);
  const rows: string[][] = [];
  for (let run = 1; run <= runs; run++) {
    const alone = await measureQuiet(bench);
    rows.push([`${run}, alone`, '', milliseconds(alone.p50), milliseconds(alone.p99), '1', String(alone.failed)]);
    for (const noise of NOISES) {
      const { quiet, loud } = await measureBeside(bench, noise);
      const ratio = (quiet.p99 / alone.p99).toFixed(1);
      const others = count(loud.rate + loud.failed / seconds);
      rows.push([`${run}, ${noise.title}`, others, milliseconds(quiet.p50), milliseconds(quiet.p99), ratio, String(quiet.failed)]);
    }
  }
  return table(['run, what the other tenant does', 'its answers/s', 'p50 ms', 'p99 ms', 'p99 / alone', 'failed'], rows);
};
