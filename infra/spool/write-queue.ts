import { addToShare, fitsShare, newFairShare } from '../threads/fair-share.ts';
import { countShareRefusal } from '../threads/share-refusals.ts';
import type { Insertion, SpoolLimits } from './spool-file.ts';
import type { SpoolEntry } from './spooled-delivery.ts';

/**
 * A delivery is refused if it is not safely on the disk after this many milliseconds; a large delivery has more time.
 * Writing usually takes a few milliseconds. If the disk or the machine is very busy, a late answer is better than a
 * refusal, because some providers never repeat a delivery.
 */
const PUT_TIMEOUT_MS = 2_000;
const MIN_BYTES_PER_MS = 10_000;
/** The limit for queued deliveries, which are in memory. */
const MAX_QUEUED: SpoolLimits = { rows: 2_000, bytes: 160 * 1024 ** 2 };
/** A tenant gets at most this part of the bytes that the others leave. */
const TENANT_PART = 1 / 2;
/** The maximum number of rows and of bytes that one transaction writes. A larger delivery is written alone. */
const MAX_BATCH: SpoolLimits = { rows: 256, bytes: 4 * 1024 ** 2 };

/** `stored`: safely on the disk now. `known`: before. `refused`: could not be written in time. */
export type PutResult = 'stored' | 'known' | 'refused';

type Queued = { readonly entry: SpoolEntry; readonly resolve: (result: PutResult) => void };

type QueueOptions = {
  /** Writes entries in one transaction. @throws Error; in this case, no entry is written */
  readonly write: (entries: SpoolEntry[]) => Promise<Insertion[]>;
  /** The sender may have been refused before, because writing took too long. */
  readonly onResult: (entry: SpoolEntry, result: Insertion) => void;
};

/** Entries that arrive during one transaction are written by the next. */
export const createWriteQueue = ({ write, onResult }: QueueOptions) => {
  let queue: Queued[] = [];
  const memory = newFairShare(MAX_QUEUED.bytes);
  let isWriting = false;

  const takeBatch = (): Queued[] => {
    let count = 0;
    for (let bytes = 0; count < queue.length && count < MAX_BATCH.rows; count++) {
      bytes += queue[count]!.entry.body.length;
      if (count > 0 && bytes > MAX_BATCH.bytes) break;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    return batch;
  };

  const writeAll = async (): Promise<void> => {
    isWriting = true;
    while (queue.length > 0) {
      const batch = takeBatch();
      const results = await write(batch.map(({ entry }) => entry)).catch(() => []);
      for (const [index, { entry, resolve }] of batch.entries()) {
        const result = results[index] ?? 'full';
        addToShare(memory, entry.tenant, -entry.body.length);
        onResult(entry, result);
        resolve(result === 'full' ? 'refused' : result);
      }
    }
    isWriting = false;
  };

  return {
    hasRoom: ({ tenant, body }: SpoolEntry): boolean => {
      const isFitting = queue.length < MAX_QUEUED.rows && fitsShare(memory, tenant, body.length, TENANT_PART);
      if (!isFitting) countShareRefusal('spool-queue');
      return isFitting;
    },
    /** Resolves when the entry is durable or refused; never rejects. */
    put: (entry: SpoolEntry): Promise<PutResult> =>
      new Promise((resolve) => {
        const timer = setTimeout(() => resolve('refused'), PUT_TIMEOUT_MS + entry.body.length / MIN_BYTES_PER_MS);
        addToShare(memory, entry.tenant, entry.body.length);
        queue.push({
          entry,
          resolve: (result) => {
            clearTimeout(timer);
            resolve(result);
          },
        });
        if (!isWriting) void writeAll();
      }),
  };
};
