import { randomUUID } from 'node:crypto';
import type { OperatorPorts } from '../../commands/webhooks/redeliver.ts';
import type { Actor } from '../../domain/event.ts';
import * as Delivery from '../../domain/webhooks/delivery.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';

/**
 * Returns the functions with which a program that has no user reads and changes deliveries. `actor` is stored in each
 * event.
 */
export const openOperatorPorts = (log: Log, actor: Actor): OperatorPorts => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  return {
    load: cache.load,
    decide: async ({ tenant, delivery_id }, decide) => {
      const meta = { tenant, actor, at: new Date().toISOString(), v: 1 };
      return (await transact({ aggregate: Delivery, tenant, id: delivery_id, decide, meta, seed: randomUUID() })).state;
    },
  };
};
