import type { ReadDelivery } from '../../commands/webhooks/delivery.ts';
import { deliveryPreview, type ReadPreviews } from '../../commands/webhooks/delivery-preview.ts';
import type { PreviewField } from '../../domain/webhooks/payload-preview.ts';
import { createLruMap } from '../lru-map.ts';
import type { Vault } from '../vault/vault.ts';

/** The number of previews that stay in memory. One takes about 300 bytes. */
const CAPACITY = 4_000;
/** The maximum number of deliveries that are read from the log at the same time for one request. */
const CONCURRENCY = 16;

/**
 * Creates the reader of previews. The payloads are only in the log, encrypted, so that the erasure of a tenant removes
 * them: no read model has previews. They are read once and then kept in memory, because a recorded body never changes.
 */
export const createDeliveryPreviews = (readDelivery: ReadDelivery, vault: Pick<Vault, 'onErased'>): ReadPreviews => {
  const known = createLruMap<string, readonly PreviewField[]>({ capacity: CAPACITY });
  let erasures = 0;
  vault.onErased(() => {
    erasures++;
    known.clear();
  });

  const readOne = async (tenant: string, id: string): Promise<readonly PreviewField[] | undefined> => {
    const key = `${tenant}/${id}`;
    const kept = known.get(key);
    if (kept) return kept;
    const erasuresBefore = erasures;
    const stored = await readDelivery(tenant, id).catch(() => null);
    if (!stored || 'unreadable' in stored.body) return undefined;
    const preview = deliveryPreview(stored);
    if (erasures === erasuresBefore) known.set(key, preview);
    return preview;
  };

  return async (tenant, ids) => {
    const found = new Map<string, readonly PreviewField[]>();
    for (let at = 0; at < ids.length; at += CONCURRENCY) {
      const some = ids.slice(at, at + CONCURRENCY);
      const previews = await Promise.all(some.map((id) => readOne(tenant, id)));
      for (const [index, preview] of previews.entries()) if (preview) found.set(some[index]!, preview);
    }
    return found;
  };
};
