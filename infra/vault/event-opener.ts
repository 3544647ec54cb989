import { PLATFORM } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import { type ContentKeys, createContentKeys } from './content-keys.ts';
import { createDataKeyCache } from './data-key-cache.ts';
import { loadMasterKey } from './master-key.ts';
import { createEventOpener, type SealedEvents } from './sealed-events.ts';
import { readWrappedKeys, unwrapKey } from './wrapped-keys.ts';

/**
 * Creates the function that opens sealed events, for a process that seals nothing: it creates no key. The master key is
 * loaded when the first sealed event arrives. If that fails, the next event tries again.
 * @throws (the function) what `openEvent` throws; Error with a one-line message for the operator if the master key is
 * missing, or is not the one of this log
 */
export const openEventOpener = ({ log, masterKeyFile }: { log: Log; masterKeyFile: string }): SealedEvents['openEvent'] => {
  const load = async (): Promise<ContentKeys> => {
    const master = await loadMasterKey(masterKeyFile, false);
    // A wrong master key must not look like a damaged data key, for which events would be skipped.
    const [nameKey] = await readWrappedKeys(log, PLATFORM, 'name');
    if (nameKey) unwrapKey(master, PLATFORM, 'name', nameKey);
    return createContentKeys(createDataKeyCache(log, master));
  };

  let loading: Promise<ContentKeys> | null = null;
  let contentKeys: ContentKeys | null = null;

  const loadOnce = (): Promise<ContentKeys> => {
    loading ??= load().finally(() => {
      loading = null;
    });
    return loading;
  };

  return createEventOpener((tenant, kid) => {
    if (contentKeys) return contentKeys(tenant, kid);
    return loadOnce().then((loaded) => {
      contentKeys = loaded;
      return loaded(tenant, kid);
    });
  });
};
