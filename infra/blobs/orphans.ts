import type { Log } from '../eventstore/event-log.ts';
import type { BlobBackend, StoredEntry } from './blob-backend.ts';
import { eventsThatKeepBlobs } from './naming-events.ts';

const DIGEST = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g;

/** A number of blobs, and their total size in the store in bytes. */
export type BlobCount = { readonly count: number; readonly bytes: number };

/**
 * `total` are all stored blobs. `orphans` are those that are old enough and to which no event refers. `foreign` are
 * blobs of tenants that the log does not contain, for example because another platform uses the same store.
 */
export type OrphanSearch = { readonly total: BlobCount; readonly foreign: BlobCount; readonly orphans: readonly StoredEntry[] };

export const countOf = (entries: readonly StoredEntry[]): BlobCount => ({
  count: entries.length,
  bytes: entries.reduce((sum, { sealedSize }) => sum + sealedSize, 0),
});

/**
 * Finds the blobs to which no event refers and that were stored before `before` (milliseconds since 1970). Recent blobs
 * are left out, because a blob is stored before the event that refers to it. To be safe, any digest in any field of an
 * event counts as a reference, except in the events of memory imports that were undone and of entries that were forgotten.
 * @throws LogError, also if a record of the log is damaged, because it might refer to a blob
 */
export const findOrphans = async (backend: BlobBackend, log: Log, before: number): Promise<OrphanSearch> => {
  // List the blobs before the log is read: then the log also contains the events that refer to a listed blob and were
  // appended during the listing.
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

/** Removes orphans, except those that were stored again meanwhile. @returns the number and size of the removed blobs */
export const removeOrphans = async (backend: BlobBackend, orphans: readonly StoredEntry[]): Promise<BlobCount> => {
  const removed: StoredEntry[] = [];
  for (const orphan of orphans) if (await backend.remove(orphan)) removed.push(orphan);
  return countOf(removed);
};
