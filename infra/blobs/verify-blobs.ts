import { namedBlobs } from '../../domain/blob-references.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { BlobStore } from './blob-store.ts';
import { eventsThatKeepBlobs } from './naming-events.ts';
import { BlobDamaged } from './sealed-blob.ts';

export type BlobFinding = {
  readonly tenant: string;
  readonly sha256: string;
  readonly problem: 'missing' | 'damaged';
  readonly event_id: string;
};

export type BlobVerification = { readonly read: number; readonly bytes: number; readonly findings: readonly BlobFinding[] };

const sizeOf = async (content: AsyncIterable<Uint8Array>): Promise<number> => {
  let size = 0;
  for await (const bytes of content) size += bytes.length;
  return size;
};

/** Reads to the end. Returns the size, or the problem. */
const readBlob = async (blobs: BlobStore, tenant: string, sha256: string): Promise<number | BlobFinding['problem']> => {
  try {
    const blob = await blobs.of(tenant).get(sha256);
    return blob ? await sizeOf(blob.content) : 'missing';
  } catch (error) {
    if (error instanceof BlobDamaged) return 'damaged';
    throw error;
  }
};

/**
 * Reads each blob to which an event refers once. Leaves out blobs of undone memory imports and forgotten entries, which may be removed.
 * @throws Refusal, LogError
 */
export const verifyBlobs = async (blobs: BlobStore, log: Log): Promise<BlobVerification> => {
  const seen = new Set<string>();
  const findings: BlobFinding[] = [];
  let bytes = 0;
  for await (const event of eventsThatKeepBlobs(log))
    for (const sha256 of namedBlobs(event)) {
      const { tenant, event_id } = event;
      if (seen.has(`${tenant}/${sha256}`)) continue;
      seen.add(`${tenant}/${sha256}`);
      const result = await readBlob(blobs, tenant, sha256);
      if (typeof result === 'number') bytes += result;
      else findings.push({ tenant, sha256, problem: result, event_id });
    }
  return { read: seen.size, bytes, findings };
};
