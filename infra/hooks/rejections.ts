import type { Integration } from '../../domain/integration.ts';
import { category, type Rejection } from '../../domain/rejection.ts';
import { randomId } from '../vault/natural-id.ts';
import { type BatchDeps, batches } from './batches.ts';
import { tally } from './tally.ts';

/** Records rejections in batches, after the answers: a forged post buys no write of its own. */
export const rejections = (deps: BatchDeps) => {
  const { note, close } = batches(deps, { category, tally, meta: (id) => ({ actor: { kind: 'system', id } }) });
  return {
    rejected: ({ id, tenant_id }: Integration, rejection: Omit<Rejection, 'delivery_id'>, at: string): void =>
      note(tenant_id, id, { delivery_id: randomId(), ...rejection }, at),
    /** Records what is left, the minute that still runs included. */
    close,
  };
};
