import { BENCHMARK_MESSAGE_TYPE, CONTENT_TYPE } from '../../domain/runners/cloud-event.ts';
import { budgetRefusalIn } from './budget-refusal.ts';
import { causeOfError, plainText, startOfBody } from './failed-attempt.ts';
import type { EventHandler, ReceivedEvent } from './receive-events.ts';
import { publishLines } from './result-lines.ts';
import { retryAfterMs } from './retry-after.ts';

const TOO_MANY_REQUESTS = 429;
const DEFAULT_TIMEOUT_MS = 60_000;
/** Matches the media type of an answer with the results of a benchmark run, one per line. */
const RESULT_TYPE = /^application\/(?:jsonl|x-ndjson)\s*(?:;|$)/i;

type Options = { readonly url: string; readonly timeoutMs: number | undefined };

const failureOf = ({ name, message, cause }: Error, timeoutMs: number): string => {
  if (name === 'TimeoutError') return `does not answer within ${timeoutMs / 1_000} s`;
  return `does not answer (${(cause as { code?: string } | undefined)?.code ?? message})`;
};

/**
 * Creates the handler that posts the CloudEvent to a URL, in the structured mode of the CloudEvents HTTP binding. A 2xx
 * status means success. The answer to a benchmark run contains the results of the run. For any other status, the header
 * Retry-After determines when the event is delivered again.
 */
export const forwardHandler = ({ url, timeoutMs = DEFAULT_TIMEOUT_MS }: Options): EventHandler => {
  /** `text` has the results of a benchmark run. The body of an answer without success is not read here. */
  const send = async ({ event, json, live }: ReceivedEvent): Promise<{ readonly response: Response; readonly text: string }> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': `${CONTENT_TYPE}; charset=utf-8`,
        'user-agent': 'annals-runner',
        ...(event.traceparent === undefined ? {} : { traceparent: event.traceparent }),
      },
      body: json as Uint8Array<ArrayBuffer>,
      redirect: 'manual',
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(live ? [live.signal] : [])]),
    });
    const hasResults = response.ok && RESULT_TYPE.test(response.headers.get('content-type') ?? '');
    if (response.ok && !hasResults) await response.body?.cancel();
    return { response, text: hasResults ? await response.text() : '' };
  };
  return async (received) => {
    const { event, publishResult } = received;
    try {
      const { response, text } = await send(received);
      const { ok, status, headers } = response;
      const isRun = ok && event.type === BENCHMARK_MESSAGE_TYPE;
      const fault = isRun ? await publishLines(text.split('\n'), publishResult) : null;
      if (fault !== null) return { reason: `${url} answers with a line that is not a valid result: ${fault}` };
      const delayMs = retryAfterMs(headers.get('retry-after'));
      if (ok) return null;
      // The acknowledgement waits for the body only if the body can name the budget.
      const output = startOfBody(response.body);
      const budget = status === TOO_MANY_REQUESTS ? budgetRefusalIn(plainText((await output).text)) : undefined;
      return {
        reason: `${url} answers ${status}`,
        delayMs,
        budget,
        cause: { outcome: delayMs === undefined ? 'failed' : 'released', code: status, output },
      };
    } catch (error) {
      return { reason: `${url} ${failureOf(error as Error, timeoutMs)}`, cause: causeOfError(error, 'crashed') };
    }
  };
};
