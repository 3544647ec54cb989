import { open } from 'node:fs/promises';
import type { BlobBackend, BlobDraft, SealedBytes } from './blob-backend.ts';
import { withDraftPath, writeFully } from './blob-drafts.ts';
import type { BlobPlace } from './open-blob-store.ts';
import type { BlobCount } from './orphans.ts';

const HEAD_BYTES = 1_024 * 1_024;

const writeSealed = async (path: string, { head, rest, sealedSize }: SealedBytes): Promise<BlobDraft> => {
  await using file = await open(path, 'wx', 0o600);
  await writeFully(file, [head], 0);
  let at = head.length;
  if (at < sealedSize)
    for await (const bytes of rest()) {
      await writeFully(file, [Buffer.from(bytes)], at);
      at += bytes.length;
    }
  return { path, sealedSize: at };
};

/** The blobs stay encrypted, so no key is needed. A blob that is already there with the same size is not copied again. */
export const copyBlobs = async (from: BlobBackend, { backend, drafts }: BlobPlace): Promise<BlobCount> => {
  let [count, bytes] = [0, 0];
  for await (const { tenant, sha256, sealedSize } of from.list()) {
    const name = { tenant, sha256 };
    if ((await backend.sealedSizeOf(name)) === sealedSize) continue;
    const sealed = await from.read(name, HEAD_BYTES);
    // A blob that is removed during the copy is an orphan, and need not be copied.
    if (!sealed) continue;
    await withDraftPath(drafts, async (path) => backend.store(name, await writeSealed(path, sealed), async () => false));
    count += 1;
    bytes += sealedSize;
  }
  return { count, bytes };
};
