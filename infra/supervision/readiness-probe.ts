import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_INTERVAL_MS = 20;
const REQUEST_TIMEOUT_MS = 5_000;
const REPORT_INTERVAL_MS = 10_000;
/**
 * How long a start waits for the other parts of the platform after deliveries are accepted. After that, the start is
 * complete, even if a part is not up.
 */
const DEGRADED_TIMEOUT_MS = 10_000;

type Readiness = { readonly status: number; readonly degraded: readonly string[] };

// Do not use `fetch` or import `node:http`: both load all of undici, at a time when the starting processes need the
// CPU.
const { get } = process.getBuiltinModule('node:http');

const readiness = (base: string, ended: AbortSignal): Promise<Readiness | undefined> =>
  new Promise((resolve) => {
    const noAnswer = (): void => resolve(undefined);
    const signal = AbortSignal.any([ended, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
    const request = get(`${base}/readyz`, { agent: false, signal }, (response) => {
      json(response).then((body) => resolve({ status: response.statusCode!, degraded: (body as Readiness).degraded }), noAnswer);
    });
    request.on('error', noAnswer);
  });

/**
 * Waits until /readyz answers 200 and names no degraded part. It stops waiting for degraded parts `DEGRADED_TIMEOUT_MS`
 * after /readyz began to answer 200, and stops at once when the process ends. Every ten seconds, it reports what is
 * missing.
 */
export const waitUntilReady = async (base: string, report: (line: string) => void, ended: AbortSignal): Promise<void> => {
  let readySince: number | undefined;
  for (let reportedAt = Date.now(); !ended.aborted; await sleep(POLL_INTERVAL_MS)) {
    const found = await readiness(base, ended);
    readySince = found?.status === 200 ? (readySince ?? Date.now()) : undefined;
    if (readySince && (found?.degraded.length === 0 || Date.now() - readySince > DEGRADED_TIMEOUT_MS)) return;
    if (found === undefined || Date.now() - reportedAt < REPORT_INTERVAL_MS) continue;
    reportedAt = Date.now();
    report(`still waiting for ${found.degraded.join(', ')}: ${base}/readyz answers ${found.status}`);
  }
};
