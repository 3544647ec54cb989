import type { Log, Subscription } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import type { Vault } from './vault.ts';

export type LazyVault = {
  /** @throws the errors of `openVault`; the next call tries again */
  readonly open: () => Promise<Vault>;
  readonly close: () => Promise<void>;
};

/** Loads its modules only when it is needed, which saves memory. Once open, it follows changes of keys in the log. */
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
