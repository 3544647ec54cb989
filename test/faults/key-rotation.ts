import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { createSockets, post } from './load.ts';
import { withPlatform } from './platform.ts';
import type { KillablePlatform } from './running-platform.ts';
import { ADMIN_KEY } from './running-platform.ts';
import { createDataset, type Dataset } from './tenants.ts';

// This program rotates keys while requests are sent, and reports the requests that fail. Usage: `node
// test/faults/key-rotation.ts --rotations 5 --per-second 200`.

const TENANTS = 6;
/**
 * Every request whose number is a multiple of this creates a tenant. The platform then also creates data keys during
 * the rotations.
 */
const TENANT_EVERY = 100;
/**
 * Every request whose number is a multiple of this replaces the secret of an integration. The platform encrypts the new
 * secret with its newest data key.
 */
const SECRET_EVERY = 20;
/**
 * Every request whose number is a multiple of this reads the body of a delivery. The platform decrypts the body for
 * that.
 */
const BODY_EVERY = 3;
/**
 * How long requests are sent before the first rotation and after the last one. The caches of the platform are then full
 * when the rotations begin.
 */
const REST_MS = 2_000;

type Failure = { readonly what: string; readonly detail: string };

export type RotationReport = {
  readonly requests: number;
  readonly perSecond: number;
  readonly failures: readonly Failure[];
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The durations of the rotations of the master key, in milliseconds. */
  readonly rotationMs: readonly number[];
};

type Sender = { readonly base: string; readonly dataset: Dataset };

const p99 = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;

/**
 * Sends requests at a steady rate until `stop` is called. A request that is not answered as expected counts as a
 * failure.
 */
const startRequests = ({ base, dataset }: Sender, perSecond: number) => {
  const sockets = createSockets();
  const failures: Failure[] = [];
  const latencies: number[] = [];
  const accepted: { id: string; tenant: Dataset['tenants'][number] }[] = [];
  const pending = new Set<Promise<void>>();
  const { hooks } = dataset;
  // Deliveries go to the integrations of all tenants except the last one, whose integrations get new secrets.
  const delivered = hooks.filter(({ agent }) => agent.tenant !== dataset.tenants.at(-1));
  const rotated = hooks.filter((hook) => !delivered.includes(hook));
  let isStopped = false;

  const call = async (what: string, path: string, key: string, body?: object): Promise<void> => {
    const init = body && { method: 'POST', body: JSON.stringify(body) };
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(base + path, { ...init, headers, signal: AbortSignal.timeout(Math.round(10_000 * loadFactor())) });
    const text = await response.text();
    if (!response.ok) failures.push({ what, detail: `${response.status} ${text}` });
  };

  const deliver = async (n: number): Promise<void> => {
    const hook = delivered[n % delivered.length]!;
    const { kind, id, detail } = await post(base, sockets, {
      hook,
      deliveryId: randomUUID(),
      body: JSON.stringify({ n, text: 'x'.repeat(900) }),
    });
    if (kind !== 'accepted') failures.push({ what: 'delivery', detail });
    else accepted.push({ id: id!, tenant: hook.agent.tenant });
  };

  const send = (n: number): Promise<void> => {
    const slug = `late-${n}-${randomUUID().slice(0, 8)}`;
    if (n % TENANT_EVERY === 0)
      return call('tenant', '/admin/tenants', ADMIN_KEY, { name: slug, slug, owner_email: `${slug}@example.com` });
    if (n % SECRET_EVERY === 0) {
      const { id, agent } = rotated[(n / SECRET_EVERY) % rotated.length]!;
      return call('secret', `/tenant/${agent.tenant.id}/webhook-integrations/${id}/rotate-secret`, agent.tenant.key, {});
    }
    // Read a delivery that was accepted about two seconds ago: newer ones may not be in the read models yet.
    const read = n % BODY_EVERY === 0 ? accepted.at(-perSecond * 2) : undefined;
    if (read) return call('body', `/tenant/${read.tenant.id}/deliveries/${read.id}/body`, read.tenant.key);
    return deliver(n);
  };

  const measure = async (n: number): Promise<void> => {
    const startedAt = performance.now();
    await send(n).catch((error: Error) => failures.push({ what: 'request', detail: error.message }));
    latencies.push(performance.now() - startedAt);
  };

  const startedAt = performance.now();
  const ended = (async () => {
    for (let n = 1; !isStopped; n++) {
      const work: Promise<void> = measure(n).finally(() => pending.delete(work));
      pending.add(work);
      await sleep(Math.max(0, startedAt + (n * 1_000) / perSecond - performance.now()));
    }
  })();
  return {
    stop: async () => {
      isStopped = true;
      await ended;
      const seconds = (performance.now() - startedAt) / 1_000;
      await Promise.all(pending);
      sockets.destroy();
      return { failures, latencies, perSecond: latencies.length / seconds };
    },
  };
};

const annals = async ({ data }: KillablePlatform, ...words: string[]): Promise<string> => {
  const env = { ...unconfiguredEnvironment(), ANNALS_DATA: data };
  const running = startProgram(process.execPath, [mainFile, ...words], { env });
  const code = await running.ended;
  if (code !== 0) throw new Error(`annals ${words.join(' ')} ended with ${code}: ${running.output()}`);
  return running.output();
};

/** Rotates the master key and the data key of one tenant in turn, `rotations` times, while requests are sent. */
export const rotateUnderLoad = async (
  platform: KillablePlatform,
  { rotations, perSecond }: { rotations: number; perSecond: number },
): Promise<RotationReport> => {
  const dataset = await createDataset(platform, { tenants: TENANTS, agents: 1, hooks: 2 });
  const requests = startRequests({ base: platform.url, dataset }, perSecond);
  const rotationMs: number[] = [];
  await sleep(REST_MS);
  for (let n = 0; n < rotations; n++) {
    const startedAt = performance.now();
    await annals(platform, 'vault', 'rotate', '--master');
    rotationMs.push(performance.now() - startedAt);
    const { id } = dataset.tenants[n % dataset.tenants.length]!;
    await annals(platform, 'vault', 'rotate', '--tenant', id);
  }
  await sleep(REST_MS);
  const { failures, latencies, perSecond: reached } = await requests.stop();
  return { requests: latencies.length, perSecond: reached, failures, p99Ms: p99(latencies), maxMs: Math.max(...latencies), rotationMs };
};

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Formats the report as lines of text. */
export const reportText = ({ requests, perSecond, failures, p99Ms, maxMs, rotationMs }: RotationReport): string =>
  [
    `${requests} requests at ${perSecond.toFixed(0)}/s during ${rotationMs.length} rotations of the master key and of data keys`,
    `rotations of the master key took ${rotationMs.map(seconds).join(', ')}`,
    `p99 ${p99Ms.toFixed(0)} ms, max ${maxMs.toFixed(0)} ms`,
    `${failures.length} failed`,
    ...failures.slice(0, 10).map(({ what, detail }) => `  ${what}: ${detail}`),
  ].join('\n');

if (process.argv[1] === join(import.meta.dirname, 'key-rotation.ts')) {
  const { values } = parseArgs({
    options: { rotations: { type: 'string', default: '5' }, 'per-second': { type: 'string', default: '200' } },
  });
  const options = { rotations: Number(values.rotations), perSecond: Number(values['per-second']) };
  await withPlatform(async (platform) => {
    const report = await rotateUnderLoad(platform, options);
    console.log(reportText(report));
    if (report.failures.length > 0) process.exitCode = 1;
  });
}
