import { category, type Rejection, type RejectionEvent } from '../../domain/deliveries/rejection.ts';
import type { Integration } from '../../domain/integrations/integration.ts';
import { randomId } from '../vault/unique-id.ts';
import { type BatchDeps, batchedWriter } from './batched-writer.ts';
import { cappedCounter, type RefusalKind } from './capped-counter.ts';

const kind: RefusalKind<Rejection, RejectionEvent> = {
  single: (data) => ({ type: 'WebhookRejected', data }),
  summed: (data) => ({ type: 'WebhookRejectionsCounted', data }),
  callerOf: ({ ip, reason }) => (reason === 'rate_limited' ? reason : ip),
  isOnlyCounted: ({ reason }) => reason === 'rate_limited',
};

export const rejectionCounter = () => cappedCounter(kind);

/** Records after the responses, so that a flood of forged requests does not cause one append each. */
export const rejectionWriter = (deps: BatchDeps) => {
  const { add, close } = batchedWriter(deps, {
    category,
    createCounter: rejectionCounter,
    meta: (id) => ({ actor: { kind: 'system', id } }),
  });
  return {
    record: ({ id, tenant_id }: Integration, rejection: Omit<Rejection, 'delivery_id'>, at: string): void =>
      add(tenant_id, id, { delivery_id: randomId(), ...rejection }, at),
    close,
  };
};
