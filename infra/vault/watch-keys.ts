import type { Log, Subscription } from '../eventstore/event-log.ts';
import { DATA_KEY_ID, keyStream, NAME_KEY } from './wrapped-keys.ts';

export type KeyChanges = {
  readonly onDataKey: (tenant: string) => Promise<void>;
  /** Called before the data keys of a tenant are destroyed, and after that. */
  readonly onErased: (tenant: string) => void;
  /** Called when the name key of the platform has been encrypted with another master key. */
  readonly onRewrapped: () => Promise<void>;
};

/** A tenant's keys are dropped from memory at each: before and after they are destroyed. A key loaded in between is dropped at the next. */
const ERASURE_EVENTS = ['TenantErasureStarted', 'TenantDataKeyDestroyed', 'TenantErased'];

/**
 * Follows changes from now on. An error of a handler is ignored: the keys in memory stay valid, and the next change calls it again.
 * @throws LogError unavailable
 */
export const watchKeys = async (log: Log, { onDataKey, onErased, onRewrapped }: KeyChanges): Promise<Subscription> => {
  const [last] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
  return log.follow({
    from: last?.position,
    filter: { eventTypes: ['DataKeyCreated', 'KeysRewrapped', ...ERASURE_EVENTS] },
    event: async ({ type, stream, tenant, id }) => {
      if (ERASURE_EVENTS.includes(type)) onErased(tenant);
      if (type === 'DataKeyCreated' && id === DATA_KEY_ID) await onDataKey(tenant).catch(() => {});
      if (type === 'KeysRewrapped' && stream === keyStream(NAME_KEY)) await onRewrapped().catch(() => {});
    },
  });
};
