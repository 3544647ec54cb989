import type { ReadDelivery } from '../../commands/deliveries/delivery.ts';
import { deliveryPreview, type ReadPreviews } from '../../commands/deliveries/delivery-preview.ts';
import type { NewDelivery } from '../../commands/deliveries/webhook-ports.ts';
import type { PreviewField } from '../../domain/deliveries/payload-preview.ts';
import { createLruMap } from '../lru-map.ts';
import type { Vault } from '../vault/vault.ts';

/** The number of previews that stay in memory. One takes about 300 bytes. */
const CAPACITY = 4_000;
/** The maximum number of deliveries that are read from the log at the same time for one request. */
const CONCURRENCY = 16;
/** How long previews of a tenant's new deliveries are kept after a list was read. */
const WATCHED_MS = 10_000;
const MAX_WATCHED_TENANTS = 1_000;

type PreviewDeps = {
  readonly readDelivery: ReadDelivery;
  readonly vault: Pick<Vault, 'onErased'>;
  /** Returns the milliseconds of a clock that never goes back. */
  readonly clock?: () => number;
};

export type DeliveryPreviews = {
  readonly read: ReadPreviews;
  /** How many tenants were erased since the process started. */
  readonly erasures: () => number;
  /**
   * Keeps the preview of a new delivery while lists of the tenant are read: a tenth of the time of reading it from the log. Keeps none
   * if a tenant was erased since `erasuresBefore`.
   */
  readonly keep: (delivery: NewDelivery, erasuresBefore: number) => void;
};

/**
 * Creates the reader of previews. Only the log contains the payloads, encrypted, so that the erasure of a tenant removes
 * them; no read model has previews. They are cached, because a body never changes, except that of a blocked delivery at
 * its release.
 */
export const createDeliveryPreviews = ({ readDelivery, vault, clock = () => performance.now() }: PreviewDeps): DeliveryPreviews => {
  const known = createLruMap<string, readonly PreviewField[]>({ capacity: CAPACITY });
  const lastReads = createLruMap<string, number>({ capacity: MAX_WATCHED_TENANTS });
  let erasures = 0;
  vault.onErased(() => {
    erasures++;
    known.clear();
  });

  const keyOf = (tenant: string, id: string): string => `${tenant}/${id}`;

  const readOne = async (tenant: string, id: string): Promise<readonly PreviewField[] | undefined> => {
    const kept = known.get(keyOf(tenant, id));
    if (kept) return kept;
    const erasuresBefore = erasures;
    const stored = await readDelivery(tenant, id).catch(() => null);
    if (!stored || 'unreadable' in stored.body) return undefined;
    const preview = deliveryPreview(stored);
    if (erasures === erasuresBefore && !stored.isBlocked) known.set(keyOf(tenant, id), preview);
    return preview;
  };

  const read: ReadPreviews = async (tenant, ids) => {
    lastReads.set(tenant, clock());
    const found = new Map<string, readonly PreviewField[]>();
    for (let at = 0; at < ids.length; at += CONCURRENCY) {
      const some = ids.slice(at, at + CONCURRENCY);
      const previews = await Promise.all(some.map((id) => readOne(tenant, id)));
      for (const [index, preview] of previews.entries()) if (preview) found.set(some[index]!, preview);
    }
    return found;
  };

  const keep: DeliveryPreviews['keep'] = ({ id, integration, facts, body }, erasuresBefore) => {
    const readAt = lastReads.peek(integration.tenant_id);
    if (facts.reason !== null || readAt === undefined || clock() - readAt > WATCHED_MS || !(body instanceof Uint8Array)) return;
    if (erasures === erasuresBefore) known.set(keyOf(integration.tenant_id, id), deliveryPreview({ facts, body }));
  };

  return { read, erasures: () => erasures, keep };
};
