import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type RunnerApi, retryTransient } from './api-client.ts';
import type { Approval } from './api-types.ts';
import type { Ask, Decision } from './runner-session.ts';

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 5_000;
const GROWTH = 1.2;
/** The delay between reads if a decision has arrived as an event, but the service does not show it yet. */
const LATE_DELAY_MS = 200;

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

/** Waits for `delay`, or until the decision arrives; then, the approval must be read again. */
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
 * Asks a person to decide, and waits for the decision. `session` is the path of the session. Reads the approval after a
 * second, then with delays that grow to five seconds and, with `decided`, when the decision arrives.
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
