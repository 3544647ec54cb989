import type { Log, Subscription } from '../eventstore/event-log.ts';
import { type ContentKeys, createContentKeys } from './content-keys.ts';
import { createDataKeyCache, type DataKeyCache } from './data-key-cache.ts';
import { openMasterKeys } from './master-keys.ts';
import { createEventOpener, type SealedEvents } from './sealed-events.ts';
import { isSessionEvent, openSessionEvent } from './session-events.ts';
import { watchKeys } from './watch-keys.ts';
import { NAME_KEY, readWrappedKeys, unwrapKeys } from './wrapped-keys.ts';

type LoadedKeys = { readonly contentKeys: ContentKeys; readonly dataKeys: DataKeyCache };

export type EventOpener = Pick<SealedEvents, 'openEvent'> & {
  /** Loads the keys before the first event needs them. Does nothing if there are none yet, or if they cannot be read. */
  readonly prepare: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/**
 * Used by a process that encrypts nothing; creates no key. The first encrypted event loads the master key; after a failure, the next one
 * does. From then on, it follows the log, and drops the keys of erased tenants.
 * @throws (the function) the errors of `openEvent`, Error with a one-line message for the operator if the master key is missing or wrong
 */
export const openEventOpener = ({ log, masterKeyFile }: { log: Log; masterKeyFile: string }): EventOpener => {
  let changes: Subscription | undefined;
  const load = async (): Promise<LoadedKeys> => {
    const masters = await openMasterKeys(masterKeyFile, false);
    // A wrong master key would look like damaged data keys, and events would be skipped.
    await unwrapKeys(masters, NAME_KEY, await readWrappedKeys(log, NAME_KEY.tenant, NAME_KEY.id));
    const dataKeys = createDataKeyCache(log, masters);
    const keys = createContentKeys(dataKeys);
    const onErased = (tenant: string): void => {
      dataKeys.forget(tenant);
      keys.forgetAll();
    };
    changes ??= await watchKeys(log, { onErased, onDataKey: async () => {}, onRewrapped: masters.reload });
    return { contentKeys: keys, dataKeys };
  };

  let loading: Promise<LoadedKeys> | null = null;
  let known: LoadedKeys | null = null;

  const loadOnce = (): Promise<LoadedKeys> => {
    loading ??= load().finally(() => {
      loading = null;
    });
    return loading;
  };

  const loaded = async (): Promise<LoadedKeys> => {
    known ??= await loadOnce();
    return known;
  };

  const openBytes = createEventOpener((tenant, kid) =>
    known ? known.contentKeys(tenant, kid) : loaded().then(({ contentKeys }) => contentKeys(tenant, kid)),
  );
  const openEvent: SealedEvents['openEvent'] = (event) =>
    isSessionEvent(event) ? loaded().then(({ dataKeys }) => openSessionEvent(dataKeys, event)) : openBytes(event);
  return {
    openEvent,
    prepare: () =>
      loaded().then(
        () => {},
        () => {},
      ),
    close: async () => changes?.stop(),
  };
};
