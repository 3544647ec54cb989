import { randomUUID } from 'node:crypto';
import type { MaintenanceContext } from '../../commands/operations/projection-maintenance.ts';
import { type Actor, PLATFORM } from '../../domain/event.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openVault } from '../vault/vault.ts';
import { readWrappedKeys } from '../vault/wrapped-keys.ts';

/**
 * The context in which an operator at the command line records decisions about the platform. Such an operator has no
 * user; `actor` names the command.
 * @throws Error with one line for the operator if the platform was never started, or without its master key
 */
export const openOperatorContext = async (log: Log, masterKeyFile: string, actor: Actor): Promise<MaintenanceContext> => {
  // The vault would create the keys of an empty log, which only `annals start` and `annals serve` may do.
  if ((await readWrappedKeys(log, PLATFORM, 'name')).length === 0)
    throw new Error('this platform was never started: run annals start or annals serve first');
  const vault = await openVault({ log, masterKeyFile });
  const transact = createTransact(log, openAggregateCache(log, []));
  return {
    uniqueId: (kind, key, generation = 0, tenant = PLATFORM) => vault.uniqueId(kind, tenant, key, generation),
    transact: (aggregate, id, decide) => {
      const meta = { tenant: PLATFORM, actor, at: new Date().toISOString(), v: 1 };
      return transact({ aggregate, tenant: PLATFORM, id, decide, meta, seed: randomUUID() });
    },
  };
};
