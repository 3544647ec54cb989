import type { Log } from '../eventstore/event-log.ts';
import type { BlobBackend, StoredEntry } from './blob-backend.ts';
import { eventsThatKeepBlobs } from './naming-events.ts';

const DIGEST = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g;

/** How many contents there are, and their size in the store. */
export type BlobCount = { readonly count: number; readonly bytes: number };

/**
 * `total`: what is stored. `orphans`: contents that no event names, and that are old enough. `foreign`: contents of
 * tenants that the log does not know, for example because another platform uses the same store.
 */
export type OrphanSearch = { readonly total: BlobCount; readonly foreign: BlobCount; readonly orphans: readonly StoredEntry[] };

export const countOf = (entries: readonly StoredEntry[]): BlobCount => ({
  count: entries.length,
  bytes: entries.reduce((sum, { sealedSize }) => sum + sealedSize, 0),
});

/**
 * Finds the contents that no event names. They were stored before `before` (milliseconds since 1970), because a content
 * is stored before the event that names it. Any digest in any event counts, whatever its field: so a content stays as
 * long as something might mean it. Only the events of an undone import into a memory do not count.
 * @throws LogError also if a record of the log is damaged, because it might name a content
 */
export const findOrphans = async (backend: BlobBackend, log: Log, before: number): Promise<OrphanSearch> => {
  // The list comes first: what is stored after it is not considered, and what is in it may be named until now.
  const stored = await Array.fromAsync(backend.list());
  const unnamed = new Set(stored.filter(({ storedAt }) => storedAt < before).map(({ sha256 }) => sha256));
  const tenants = new Set<string>();
  for await (const { tenant, data, meta } of eventsThatKeepBlobs(log)) {
    tenants.add(tenant);
    const text = JSON.stringify([data instanceof Uint8Array ? null : data, meta.facts]);
    for (const [digest] of text.matchAll(DIGEST)) unnamed.delete(digest);
  }
  const isKnown = ({ tenant }: StoredEntry): boolean => tenants.has(tenant);
  return {
    total: countOf(stored),
    foreign: countOf(stored.filter((entry) => !isKnown(entry))),
    orphans: stored.filter((entry) => isKnown(entry) && entry.storedAt < before && unnamed.has(entry.sha256)),
  };
};

/** Removes orphans. One that was stored again meanwhile stays. @returns what was removed */
export const removeOrphans = async (backend: BlobBackend, orphans: readonly StoredEntry[]): Promise<BlobCount> => {
  const removed: StoredEntry[] = [];
  for (const orphan of orphans) if (await backend.remove(orphan)) removed.push(orphan);
  return countOf(removed);
};
