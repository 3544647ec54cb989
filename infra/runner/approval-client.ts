import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { ApprovalRequest } from '../../commands/sessions/approval-text.ts';
import type { ApprovalRead } from '../../projections/sessions/approval.ts';
import { type RunnerApi, retryTransient } from './api-client.ts';

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 5_000;
const GROWTH = 1.2;

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

type Client = { readonly api: Pick<RunnerApi, 'get' | 'post'>; readonly stop: AbortSignal };

/** Waits for a time, or until `known` resolves. @throws the AbortError of `stop` */
const waitFor = async (ms: number, stop: AbortSignal, known: Promise<void> | undefined): Promise<void> => {
  const over = new AbortController();
  const time = sleep(ms, undefined, { signal: AbortSignal.any([stop, over.signal]) });
  await Promise.race([time, ...(known ? [known] : [])]).finally(() => {
    time.catch(() => {});
    over.abort();
  });
};

/**
 * Asks a person to decide, and waits for the decision. `session` is the path of the session. The approval is read when
 * `decided` says that there is a decision; in any case after a second, and then with delays that grow to five seconds.
 * @throws Refusal, and the AbortError of `stop` when the runner stops: the request stays open
 */
export const askForApproval = async (
  { api, stop }: Client,
  session: string,
  ask: Ask,
  decided?: (message_id: string) => Promise<void>,
): Promise<Decision> => {
  const { action, detail, expiresAt = null, content = '', key = randomUUID() } = ask;
  const body = { role: 'assistant', kind: 'approval', content, approval: { action, detail, expires_at: expiresAt } };
  const { id } = await retryTransient(() => api.post(Message, `${session}/messages`, { body, idempotencyKey: key }), stop);
  let known = decided?.(id);
  // After this, an approval that is still open is read with the usual delays.
  known?.then(() => {
    known = undefined;
  });
  for (let delay = 0; ; delay = Math.min(MAX_DELAY_MS, Math.max(FIRST_DELAY_MS, delay * GROWTH))) {
    await waitFor(delay, stop, known);
    const approval = await retryTransient(() => api.get(Answer, `${session}/messages/${id}/approval`), stop);
    if (approval.status !== 'open') return decisionOf(approval, approval.status);
  }
};
