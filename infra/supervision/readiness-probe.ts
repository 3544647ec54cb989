import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { pollDelay } from '../backoff.ts';

const POLL = { minMs: 20, maxMs: 250 };
const REQUEST_TIMEOUT_MS = 5_000;
const REPORT_INTERVAL_MS = 10_000;
/**
 * The maximum time in milliseconds that a start waits for the other parts of the platform after deliveries are
 * accepted. After this time, the start is complete even if a part is not up.
 */
const DEGRADED_TIMEOUT_MS = 10_000;
const FIRST_TENANT_TIMEOUT_MS = 60_000;

type Readiness = { readonly status: number; readonly degraded: readonly string[] };

// `fetch` is not used, and `node:http` is not imported. Both would load all of undici, at a time when the starting
// processes need the CPU.
const { get } = process.getBuiltinModule('node:http');

type JsonAnswer = { readonly status: number; readonly body: unknown };

/** Requests JSON. Resolves to undefined if no JSON answer arrives in time. */
const getJson = (url: string, headers: Record<string, string>, ended: AbortSignal): Promise<JsonAnswer | undefined> =>
  new Promise((resolve) => {
    const noAnswer = (): void => resolve(undefined);
    const signal = AbortSignal.any([ended, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
    const request = get(url, { agent: false, signal, headers }, (response) => {
      json(response).then((body) => resolve({ status: response.statusCode!, body }), noAnswer);
    });
    request.on('error', noAnswer);
  });

const readiness = async (base: string, ended: AbortSignal): Promise<Readiness | undefined> => {
  const found = await getJson(`${base}/readyz`, {}, ended);
  return found && { status: found.status, degraded: (found.body as Readiness).degraded };
};

/**
 * Waits until /readyz answers 200 and names no degraded part. If parts stay degraded, the wait ends
 * `DEGRADED_TIMEOUT_MS` after /readyz first answered 200. If the process ends, so does the wait. Every ten seconds,
 * what is missing is reported.
 */
export const waitUntilReady = async (base: string, report: (line: string) => void, ended: AbortSignal): Promise<void> => {
  const startedAt = performance.now();
  let readySince: number | undefined;
  for (let reportedAt = Date.now(); !ended.aborted; await sleep(pollDelay(POLL, startedAt))) {
    const found = await readiness(base, ended);
    readySince = found?.status === 200 ? (readySince ?? Date.now()) : undefined;
    if (readySince && (found?.degraded.length === 0 || Date.now() - readySince > DEGRADED_TIMEOUT_MS)) return;
    if (found === undefined || Date.now() - reportedAt < REPORT_INTERVAL_MS) continue;
    reportedAt = Date.now();
    report(`still waiting for ${found.degraded.join(', ')}: ${base}/readyz answers ${found.status}`);
  }
};

/**
 * Waits until the caller with this API key sees their first tenant. At the first start, the projections may still be
 * behind. Stops waiting after `FIRST_TENANT_TIMEOUT_MS`, and when `ended` is aborted.
 */
export const waitUntilTenantIsListed = async (base: string, key: string, ended: AbortSignal): Promise<void> => {
  const headers = { authorization: `Bearer ${key}` };
  const startedAt = performance.now();
  const isWaiting = (): boolean => !ended.aborted && performance.now() - startedAt < FIRST_TENANT_TIMEOUT_MS;
  for (; isWaiting(); await sleep(pollDelay(POLL, startedAt))) {
    const found = await getJson(`${base}/me`, headers, ended);
    if (found?.status === 200 && (found.body as { tenants: unknown[] }).tenants.length > 0) return;
  }
};
