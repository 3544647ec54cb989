import { setTimeout as sleep } from 'node:timers/promises';
import { usageError } from '../arguments.ts';
import type { ApiOperation } from './api-document.ts';
import type { ApiOptions, ApiRequest } from './operation-arguments.ts';
import { printJson, printProblem, readPages, type Service, sendRequest } from './print-answer.ts';

const RECONNECT_MS = 2_000;
/** The service sends a heartbeat every 15 seconds. If it is silent for longer, the connection is broken. */
const MAX_SILENCE_MS = 40_000;

const isTemporary = ({ status }: Response): boolean => status === 429 || status >= 500;

/** @throws a usage error if the operation cannot be watched */
const watchedTenant = ({ name, method }: ApiOperation, { path }: ApiRequest): string => {
  const [, tenant] = /^(?:\/v1)?\/tenants?\/([a-z0-9]+)/.exec(path) ?? [];
  if (method !== 'get' || tenant === undefined) throw usageError(`${name} cannot be watched: --watch needs a read of a tenant`);
  return tenant;
};

/** Yields the id of the newest change each time that the stream has announced some. Ends when the connection ends. */
async function* announcedTokens(response: Response, stop: AbortController): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let silence = setTimeout(() => stop.abort(), MAX_SILENCE_MS);
  try {
    for await (const chunk of response.body ?? []) {
      clearTimeout(silence);
      silence = setTimeout(() => stop.abort(), MAX_SILENCE_MS);
      const text = rest + decoder.decode(chunk as Uint8Array, { stream: true });
      const end = text.lastIndexOf('\n\n') + 2;
      rest = text.slice(Math.max(end, 0));
      const token = [...text.slice(0, end).matchAll(/^id: (\S+)$/gm)].at(-1)?.[1];
      if (token !== undefined) yield token;
    }
  } catch {
    // The connection has broken; the caller connects again.
  } finally {
    clearTimeout(silence);
  }
}

const answerTo = async (service: Service, request: ApiRequest): Promise<Response> => {
  for (;;) {
    const response = await sendRequest(service, request).catch(() => null);
    if (response !== null && !isTemporary(response)) return response;
    await sleep(RECONNECT_MS);
  }
};

/** The function prints the answer if it has changed. It returns false if the read was refused for good, after printing the problem. */
const printChanged = (service: Service, request: ApiRequest, options: ApiOptions) => {
  let shown: string | null = null;
  return async (token: string | null): Promise<boolean> => {
    const headers = token === null ? request.headers : { ...request.headers, 'consistency-token': token };
    const response = await answerTo(service, { ...request, headers });
    if (!response.ok) {
      await printProblem(response);
      return false;
    }
    if (!/^application\/json\b/.test(response.headers.get('content-type') ?? '')) throw new Error('--watch needs an answer in JSON');
    const value = await readPages(service, response, options);
    const text = JSON.stringify(value);
    if (value !== undefined && text !== shown) printJson(value, options);
    shown = text;
    return value !== undefined;
  };
};

/**
 * Prints the answer again each time that anything in the tenant changes, because a read can show several categories. Reconnects when the
 * stream ends. Returns the exit code 1 when the read or the stream is refused.
 * @throws a usage error if the operation is not a read of a tenant
 */
export const watchOperation = async (
  service: Service,
  operation: ApiOperation,
  request: ApiRequest,
  options: ApiOptions,
): Promise<number> => {
  const tenant = watchedTenant(operation, request);
  const show = printChanged(service, request, options);
  for (let last: string | null = null; ; await sleep(RECONNECT_MS)) {
    const stop = new AbortController();
    const headers: Record<string, string> = { accept: 'text/event-stream', ...(last === null ? {} : { 'last-event-id': last }) };
    const stream: Response | null = await sendRequest(
      service,
      { method: 'GET', path: `/tenant/${tenant}/changes`, headers },
      stop.signal,
    ).catch((error) => {
      if (last === null) throw error;
      return null;
    });
    if (stream === null || isTemporary(stream)) continue;
    if (!stream.ok) {
      await printProblem(stream);
      return 1;
    }
    if (!(await show(last))) return 1;
    for await (const token of announcedTokens(stream, stop)) {
      last = token;
      if (!(await show(token))) return 1;
    }
  }
};
