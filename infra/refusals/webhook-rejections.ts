import type { Integration } from '../../domain/webhooks/integration.ts';
import { category, type Rejection } from '../../domain/webhooks/rejection.ts';
import { randomId } from '../vault/unique-id.ts';
import { type BatchDeps, batchedWriter } from './batched-writer.ts';
import { tally } from './capped-counter.ts';

/** Records rejections in batches, after the answers: a forged post buys no write of its own. */
export const rejections = (deps: BatchDeps) => {
  const { note, close } = batchedWriter(deps, { category, tally, meta: (id) => ({ actor: { kind: 'system', id } }) });
  return {
    rejected: ({ id, tenant_id }: Integration, rejection: Omit<Rejection, 'delivery_id'>, at: string): void =>
      note(tenant_id, id, { delivery_id: randomId(), ...rejection }, at),
    /** Records what is left, the minute that still runs included. */
    close,
  };
};
