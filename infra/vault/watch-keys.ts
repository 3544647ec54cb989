import type { Log, Subscription } from '../eventstore/event-log.ts';
import { DATA_KEY_ID, keyStream, NAME_KEY } from './wrapped-keys.ts';

export type KeyChanges = {
  /** Called when a tenant has a new data key. */
  readonly onDataKey: (tenant: string) => Promise<void>;
  /** Called when the data keys of a tenant are about to be destroyed, and when they are destroyed. */
  readonly onErased: (tenant: string) => void;
  /** Called when the name key of the platform was encrypted with another master key. */
  readonly onRewrapped: () => Promise<void>;
};

/**
 * The events of an erasure at which keys are dropped from memory: before and after the data keys are destroyed. A key
 * that was loaded between two of them is dropped at the later one.
 */
const ERASURE_EVENTS = ['TenantErasureStarted', 'TenantDataKeyDestroyed', 'TenantErased'];

/**
 * Follows changes of keys from now on. An error of a handler is ignored: the keys in memory stay valid, and the next
 * change is handled again.
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
