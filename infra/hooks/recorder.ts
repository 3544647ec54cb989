import { randomUUID } from 'node:crypto';
import type { Recorded, Recording } from '../../commands/webhook.ts';
import { category } from '../../domain/delivery.ts';
import { type Metadata, streamName, tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Log, LogError } from '../eventstore/log.ts';

/** What a delivery's append may take: providers wait for seconds at most, and the client's own deadline is ten. */
const BUDGET_MS = 500;

/** Records a delivery in the stream that its name names, which must not exist yet: that it does is the answer "seen". */
export const recorder =
  (log: Log) =>
  (recording: Recording): Promise<Recorded> =>
    withinBudget(
      log.append(
        streamOf(recording),
        'none',
        [{ id: randomUUID(), type: recording.type, data: recording.body, meta: metadata(recording) }],
        {
          deadline: BUDGET_MS,
        },
      ),
    ).then(({ position }) => ({ token: tokenOf(position) }), whereSeen);

export const streamOf = ({ integration, id }: Pick<Recording, 'integration' | 'id'>): string =>
  streamName(category, integration.tenant_id, id);

/** An answer for the sender to come back: not at once, and not all of them together. */
export const busy = (): Refusal =>
  new Refusal('unavailable', 'the delivery could not be recorded: send it again', { retryAfter: 5 + Math.floor(Math.random() * 56) });

/** Turns an unreachable log into `busy`. */
export const busyWhereDown = (error: unknown): never => {
  if (error instanceof LogError && error.kind === 'unavailable') throw busy();
  if (error instanceof LogError && error.kind === 'gone') throw new Refusal('not_found', 'there is no such hook');
  throw error;
};

const whereSeen = (error: unknown): Recorded => {
  if (error instanceof LogError && error.kind === 'conflict') return { token: null };
  return busyWhereDown(error);
};

// Our own timer: the client has none that fires while a connection is being made.
const withinBudget = <T>(work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(busy()), BUDGET_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });

const metadata = ({ integration, facts, ip, user_agent }: Recording): Metadata => ({
  tenant: integration.tenant_id,
  actor: { kind: 'system', id: integration.id },
  at: facts.received_at,
  v: 1,
  ip,
  userAgent: user_agent,
  facts,
});
