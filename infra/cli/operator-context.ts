import type { ReactorCtx } from '../../commands/context.ts';
import type { KeyContext } from '../../commands/identity/api-key.ts';
import { type Actor, PLATFORM } from '../../domain/event.ts';
import { BASE62, randomText } from '../aggregates/random-text.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import type { Log } from '../eventstore/event-log.ts';
import { uniqueIdIn } from '../vault/tenant-ids.ts';
import { openVault, type Vault } from '../vault/vault.ts';
import { readWrappedKeys } from '../vault/wrapped-keys.ts';
import { locateServices } from './locate-services.ts';

/** The part of a request context that the commands of the CLI need. It has no caller. */
export type OperatorContext = KeyContext & ReactorCtx;

/** @throws Error with a one-line message for the operator if the platform was never started, or its master key is missing */
const openOperatorVault = async (log: Log, masterKeyFile: string): Promise<Vault> => {
  // Opening the vault of an empty log would create its keys; only `annals start` and `annals serve` may do that.
  if ((await readWrappedKeys(log, PLATFORM, 'name')).length === 0)
    throw new Error('this platform was never started: run annals start or annals serve first');
  return openVault({ log, masterKeyFile });
};

/** @throws Error with a one-line message for the operator if the log or the vault cannot be opened */
export const withOperatorVault = async <T>(
  config: Config,
  work: (opened: { readonly log: Log; readonly vault: Vault }) => Promise<T>,
): Promise<T> => {
  const log = openLog(locateServices(config).eventstoreUrl);
  try {
    return await work({ log, vault: await openOperatorVault(log, config.masterKeyFile) });
  } finally {
    await log.close();
  }
};

/**
 * `actor` is the command, because the operator who runs it is not a user of the platform.
 * @throws Error with a one-line message for the operator if the platform was never started, or its master key is missing
 */
export const openOperatorContext = async (log: Log, masterKeyFile: string, actor: Actor): Promise<OperatorContext> => {
  const vault = await openOperatorVault(log, masterKeyFile);
  return {
    ...reactorContext(log, { actor }),
    secrets: { digest: vault.digest, random: (characters) => randomText(BASE62, characters), uniqueId: uniqueIdIn(vault) },
  };
};
