import type { Log, Subscription } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import type { Vault } from './vault.ts';

export type LazyVault = {
  /** Opens the vault, or returns the open one. @throws the errors of `openVault`; the next call tries again */
  readonly open: () => Promise<Vault>;
  readonly close: () => Promise<void>;
};

/**
 * Creates a vault whose modules are loaded only when the vault is needed, which saves memory. An open vault follows
 * changes of keys in the log.
 */
export const createLazyVault = (log: Log, masterKeyFile: string): LazyVault => {
  let changes: Subscription | undefined;

  const open = async (): Promise<Vault> => {
    const { openVault } = await import('./vault.ts');
    const vault = await openVault({ log, masterKeyFile });
    changes = await vault.watchKeys();
    return vault;
  };

  return { open: openOnce(open), close: async () => changes?.stop() };
};
