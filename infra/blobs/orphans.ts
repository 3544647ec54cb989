import type { Log } from '../eventstore/event-log.ts';
import type { BlobBackend, StoredEntry } from './blob-backend.ts';
import { eventsThatKeepBlobs } from './naming-events.ts';

const DIGEST = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g;

/** `bytes` is the total size in the store. */
export type BlobCount = { readonly count: number; readonly bytes: number };

/** `orphans` are old enough and no event refers to them. `foreign` blobs are of tenants that the log does not contain. */
export type OrphanSearch = { readonly total: BlobCount; readonly foreign: BlobCount; readonly orphans: readonly StoredEntry[] };

export const countOf = (entries: readonly StoredEntry[]): BlobCount => ({
  count: entries.length,
  bytes: entries.reduce((sum, { sealedSize }) => sum + sealedSize, 0),
});

/**
 * Finds blobs without an event that were stored before `before` (Unix milliseconds). Recent ones are left out, because a blob is stored
 * before its event. Any digest in any field of an event counts, except for undone memory imports and forgotten entries.
 * @throws LogError, also if a record of the log is damaged, because it might refer to a blob
 */
export const findOrphans = async (backend: BlobBackend, log: Log, before: number): Promise<OrphanSearch> => {
  // List the blobs before the log is read, so that it contains the events appended during the listing.
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

/** Keeps those that were stored again meanwhile. Returns the number and size of the removed blobs. */
export const removeOrphans = async (backend: BlobBackend, orphans: readonly StoredEntry[]): Promise<BlobCount> => {
  const removed: StoredEntry[] = [];
  for (const orphan of orphans) if (await backend.remove(orphan)) removed.push(orphan);
  return countOf(removed);
};
