import { setTimeout as sleep } from 'node:timers/promises';
import type { RunnerAgent, RunnerApi } from './api-client.ts';
import { retryTransient } from './api-client.ts';
import type { CloudEvent } from './cloud-event.ts';
import { type Failure, type Output, plainText } from './failed-attempt.ts';
import type { KnownSecrets } from './known-secrets.ts';

const MAX_REASON_LENGTH = 2_000;
const MAX_STDERR_LENGTH = 4_000;
const MAX_CODE_LENGTH = 64;
/** While the service is unavailable, a report is tried again for this many milliseconds. */
const REPORT_TIMEOUT_MS = 10_000;
/** When the runner ends, it waits at most this many milliseconds for reports that are not sent yet. */
const END_TIMEOUT_MS = 3_000;

export type FailedRun = {
  readonly event: CloudEvent;
  readonly attempt: number;
  readonly failure: Failure;
  readonly seconds: number;
};

/** Reports to the service why runs failed. Nothing waits for a report, and a report that fails changes nothing. */
export type AttemptReporter = {
  readonly add: (failed: FailedRun) => void;
  /** Waits a short time for the reports that are not sent yet. */
  readonly close: () => Promise<void>;
};

/** Returns the start or the end of an output as text, without secrets; null if it is empty. */
const textOf = ({ mask, longest }: KnownSecrets, { text, part, isCut }: Output): string | null => {
  const masked = mask(plainText(text));
  // Where the output was cut, `mask` may not recognise the rest of a secret.
  const unsafe = isCut ? longest() : 0;
  const reported =
    part === 'start'
      ? masked.slice(0, Math.min(Math.max(0, masked.length - unsafe), MAX_STDERR_LENGTH))
      : masked.slice(unsafe).slice(-MAX_STDERR_LENGTH);
  return reported.trim() === '' ? null : reported.toWellFormed();
};

const codeText = ({ mask }: KnownSecrets, code: string | number | null | undefined): string | null =>
  mask(String(code ?? ''))
    .replace(/[^\w.-]/g, '_')
    .slice(0, MAX_CODE_LENGTH) || null;

/** The texts are well-formed, even where they are cut within a character. */
export const reportOf = async (secrets: KnownSecrets, { event, attempt, failure, seconds }: FailedRun) => {
  const { reason, delayMs, cause = { outcome: delayMs === undefined ? 'failed' : 'released' } } = failure;
  const output = await cause.output;
  return {
    attempt,
    outcome: cause.outcome,
    code: codeText(secrets, cause.code),
    reason: secrets.mask(plainText(reason)).slice(0, MAX_REASON_LENGTH).toWellFormed() || 'no reason',
    stderr_tail: output ? textOf(secrets, output) : null,
    seconds,
    message_id: event.id,
  };
};

type Options = {
  readonly api: Pick<RunnerApi, 'reportAttempt'>;
  readonly agent: RunnerAgent;
  readonly secrets: KnownSecrets;
  readonly report: (line: string) => void;
};

/** Null if the event is about no delivery, or of an earlier version of Annals. */
const deliveryOf = ({ deliveryid, providerid }: CloudEvent): string | null =>
  deliveryid !== undefined && providerid !== undefined ? deliveryid : null;

/** Creates the reporter of a runner. Only a runner key may report. */
export const createAttemptReporter = ({ api, agent, secrets, report }: Options): AttemptReporter => {
  const pending = new Set<Promise<void>>();
  let hasFailed = false;

  const send = async (delivery: string, failed: FailedRun): Promise<void> => {
    try {
      const body = await reportOf(secrets, failed);
      await retryTransient(() => api.reportAttempt(agent, delivery, body), AbortSignal.timeout(REPORT_TIMEOUT_MS));
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) report(`the reason cannot be reported to the service: ${(error as Error).message}`);
      hasFailed = true;
    }
  };

  return {
    add: (failed) => {
      const delivery = deliveryOf(failed.event);
      if (!agent.hasRunnerKey || delivery === null) return;
      const sending = send(delivery, failed).finally(() => pending.delete(sending));
      pending.add(sending);
    },
    close: async () => {
      const ending = new AbortController();
      await Promise.race([Promise.all(pending), sleep(END_TIMEOUT_MS, undefined, { signal: ending.signal }).catch(() => {})]);
      ending.abort();
      if (pending.size > 0)
        report(`${pending.size} ${pending.size === 1 ? 'report was' : 'reports were'} not sent in time and may be lost`);
    },
  };
};

/** Returns the client of the service, extended so that the secrets in the runtime become known. */
export const learningSecrets = <Api extends Pick<RunnerApi, 'runtime'>>(api: Api, { learn }: KnownSecrets): Api => ({
  ...api,
  runtime: async (agent, known) => {
    const runtime = await api.runtime(agent, known);
    learn(runtime.body);
    return runtime;
  },
});
