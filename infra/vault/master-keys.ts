import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { NamedKey } from './cipher.ts';
import { loadMasterKey, NEXT_SUFFIX, OLD_SUFFIX, readCompanion } from './master-key.ts';

/**
 * The master keys that this process knows: the key in MASTER_KEY_FILE, and the keys in the files beside it. These are
 * replaced keys and, during a rotation, the next key. A key that was read once stays known, so that a file can be
 * replaced while the process is running.
 */
export type MasterKeys = {
  /** Returns the key that MASTER_KEY_FILE contained when the files were last read. */
  readonly main: () => NamedKey;
  readonly find: (kid: string) => NamedKey | undefined;
  readonly all: () => readonly NamedKey[];
  /** If a key cannot be read now, keeps the earlier value. */
  readonly reload: () => Promise<void>;
};

const companionsOf = async (file: string): Promise<string[]> => {
  const names = await readdir(dirname(file)).catch(() => []);
  const prefix = basename(file);
  return names
    .filter((name) => name === prefix + NEXT_SUFFIX || name.startsWith(prefix + OLD_SUFFIX))
    .map((name) => join(dirname(file), name));
};

/** @throws Error with a one-line message for the operator; see `loadMasterKey` */
export const openMasterKeys = async (file: string, mayCreate: boolean): Promise<MasterKeys> => {
  let main = await loadMasterKey(file, mayCreate);
  const known = new Map<string, NamedKey>();
  const add = (key: NamedKey | null): void => void (key && known.set(key.kid, key));

  const readCompanions = async (): Promise<void> => {
    for (const path of await companionsOf(file)) add(await readCompanion(path));
  };
  add(main);
  await readCompanions();

  return {
    main: () => main,
    find: (kid) => known.get(kid),
    all: () => [...known.values()],
    reload: async () => {
      main = await loadMasterKey(file, false).catch(() => main);
      add(main);
      await readCompanions();
    },
  };
};
