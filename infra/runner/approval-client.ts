import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { ApprovalRequest } from '../../commands/sessions/approval-text.ts';
import type { ApprovalRead } from '../../projections/sessions/approval.ts';
import { type RunnerApi, retryTransient } from './api-client.ts';

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 5_000;
const GROWTH = 1.2;
/** The delay between reads while the service does not show a decision that has arrived, in milliseconds. */
const LATE_DELAY_MS = 200;

type Approval = z.output<typeof ApprovalRead>;

/** What an agent asks a person to decide. */
export type Ask = Pick<z.input<typeof ApprovalRequest>, 'action' | 'detail'> & {
  /** When nobody can decide any more (RFC 3339). By default, people can decide until the end of the session. */
  readonly expiresAt?: string;
  /** The text of the message. By default, it is empty. */
  readonly content?: string;
  /**
   * Identifies the request, at most 200 characters. If a runner asks again with the same key after a restart, with the
   * same action, detail and expiry, people are not asked twice, and a decision that was made meanwhile is found.
   */
  readonly key?: string;
};

/** `expired`: nobody has decided in time; `cancelled`: the session ended before. */
export type Decision = {
  readonly decision: Exclude<Approval['status'], 'open'>;
  readonly comment: string | null;
  /** Who has decided; null if nobody has. */
  readonly decidedBy: { readonly id: string; readonly name: string | null; readonly email: string | null } | null;
};

const Answer = z.looseObject({ id: z.string() }) as unknown as z.ZodType<Approval>;
const Message = z.looseObject({ id: z.string() });

const decisionOf = (
  { comment = null, decided_by_id, decided_by_name: name, decided_by_email: email }: Approval,
  status: Decision['decision'],
) => ({
  decision: status,
  comment,
  decidedBy: decided_by_id === null ? null : { id: decided_by_id, name, email },
});

type Client = {
  readonly api: Pick<RunnerApi, 'get' | 'post'>;
  readonly stop: AbortSignal;
  /** Resolves when the decision on this approval arrives as an event. */
  readonly decided?: (message_id: string) => Promise<void>;
};

/** Returns the function that waits until an approval is to be read again: for `delay`, or until the decision arrives. */
const waiter = (arrived: Promise<void> | undefined, signal: AbortSignal) => {
  let hasArrived = false;
  const arrival = arrived?.then(() => {
    hasArrived = true;
  });
  return async (delay: number): Promise<void> => {
    const isLate = hasArrived;
    const waiting = new AbortController();
    const pause = sleep(isLate ? LATE_DELAY_MS : delay, undefined, { signal: AbortSignal.any([signal, waiting.signal]) });
    await Promise.race(isLate || !arrival ? [pause] : [pause, arrival]).finally(() => waiting.abort());
  };
};

/**
 * Asks a person to decide, and waits for the decision. `session` is the path of the session. The approval is read after
 * a second, and then with delays that grow to five seconds; with `decided`, also when the decision arrives.
 * @throws Refusal, and the AbortError of `stop` when the runner stops: the request stays open
 */
export const askForApproval = async ({ api, stop, decided }: Client, session: string, ask: Ask): Promise<Decision> => {
  const { action, detail, expiresAt = null, content = '', key = randomUUID() } = ask;
  const body = { role: 'assistant', kind: 'approval', content, approval: { action, detail, expires_at: expiresAt } };
  const { id } = await retryTransient(() => api.post(Message, `${session}/messages`, { body, idempotencyKey: key }), stop);
  const pause = waiter(decided?.(id), stop);
  for (let delay = 0; ; delay = Math.min(MAX_DELAY_MS, Math.max(FIRST_DELAY_MS, delay * GROWTH))) {
    await pause(delay);
    const approval = await retryTransient(() => api.get(Answer, `${session}/messages/${id}/approval`), stop);
    if (approval.status !== 'open') return decisionOf(approval, approval.status);
  }
};
