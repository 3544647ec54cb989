import { randomUUID } from 'node:crypto';
import type { MaintenanceContext } from '../../commands/operations/projection-maintenance.ts';
import { type Actor, PLATFORM } from '../../domain/event.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openVault } from '../vault/vault.ts';
import { readWrappedKeys } from '../vault/wrapped-keys.ts';

/**
 * Creates the context in which a command of the CLI records decisions about the platform. The operator who runs the
 * command is not a user of the platform, so the events name `actor`, the command.
 * @throws Error of one line if the platform was never started, or if its master key is missing
 */
export const openOperatorContext = async (log: Log, masterKeyFile: string, actor: Actor): Promise<MaintenanceContext> => {
  // Opening the vault of an empty log would create its keys. Only `annals start` and `annals serve` may do that.
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
