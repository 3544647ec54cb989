import { CONTENT_TYPE } from '../../domain/runners/cloud-event.ts';
import type { EventHandler } from './receive-events.ts';
import { retryAfterMs } from './retry-after.ts';

const DEFAULT_TIMEOUT_MS = 60_000;

type Options = { readonly url: string; readonly timeoutMs: number | undefined };

const failureOf = ({ name, message, cause }: Error, timeoutMs: number): string => {
  if (name === 'TimeoutError') return `does not answer within ${timeoutMs / 1_000} s`;
  return `does not answer (${(cause as { code?: string } | undefined)?.code ?? message})`;
};

/**
 * Creates the handler that posts the CloudEvent to a URL, in the structured mode of the HTTP binding. A status of 2xx
 * is success. After any other, the header Retry-After says when the event is sent again.
 */
export const forwardHandler = ({ url, timeoutMs = DEFAULT_TIMEOUT_MS }: Options): EventHandler => {
  const send = async (json: Uint8Array): Promise<Response> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': `${CONTENT_TYPE}; charset=utf-8`, 'user-agent': 'annals-runner' },
      body: json as Uint8Array<ArrayBuffer>,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    return response;
  };
  return async ({ json }) => {
    try {
      const { ok, status, headers } = await send(json);
      return ok ? null : { reason: `${url} answers ${status}`, delayMs: retryAfterMs(headers.get('retry-after')) };
    } catch (error) {
      return { reason: `${url} ${failureOf(error as Error, timeoutMs)}` };
    }
  };
};
