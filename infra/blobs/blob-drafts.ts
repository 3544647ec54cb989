import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoredBlob } from '../../commands/blobs.ts';
import type { NamedKey } from '../vault/cipher.ts';
import type { BlobDraft } from './blob-backend.ts';
import { makeDurableDirectory } from './blob-directory.ts';
import { sealBlob, sealedSizeOf } from './sealed-blob.ts';

/** The source of the content failed, not the store. The cause is the error of the source. */
export class SourceError extends Error {}

async function* fromSource(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    throw new SourceError('the content cannot be read', { cause: error });
  }
}

/** The operating system may write fewer bytes than requested. */
export const writeFully = async (file: FileHandle, parts: readonly Buffer[], at: number): Promise<void> => {
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  const { bytesWritten } = await file.writev(parts, at);
  if (bytesWritten < size) await writeFully(file, [Buffer.concat(parts).subarray(bytesWritten)], at + bytesWritten);
};

export type Unsealed = {
  readonly key: NamedKey;
  readonly tenant: string;
  readonly content: Uint8Array | AsyncIterable<Uint8Array>;
};

const writeDraft = async (path: string, { key, tenant, content }: Unsealed): Promise<BlobDraft & StoredBlob> => {
  await using file = await open(path, 'wx', 0o600);
  const source = content instanceof Uint8Array ? [content] : fromSource(content);
  const { header, sha256, size } = await sealBlob(key, tenant, source, (parts, at) => writeFully(file, parts, at));
  await writeFully(file, [header], 0);
  return { path, sha256, size, sealedSize: sealedSizeOf(size) };
};

/** Removes the draft after `use`, unless `use` has moved it. */
export const withDraftPath = async <T>(drafts: string, use: (path: string) => Promise<T>): Promise<T> => {
  await makeDurableDirectory(drafts);
  const path = join(drafts, randomBytes(12).toString('hex'));
  try {
    return await use(path);
  } finally {
    await rm(path, { force: true });
  }
};

/**
 * Encrypts a content into a file, which is removed after `use` unless `use` has moved it.
 * @throws SourceError if the content cannot be read
 */
export const withDraft = (drafts: string, unsealed: Unsealed, use: (draft: BlobDraft & StoredBlob) => Promise<void>): Promise<StoredBlob> =>
  withDraftPath(drafts, async (path) => {
    const draft = await writeDraft(path, unsealed);
    await use(draft);
    return { sha256: draft.sha256, size: draft.size };
  });

/** @throws Error with the reason if files cannot be written */
export const checkDrafts = (drafts: string): Promise<void> =>
  withDraftPath(drafts, (path) => writeFile(path, 'draft', { mode: 0o600, flag: 'wx' })).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${drafts}, which holds files while they are stored, cannot be written to: ${error.code}`, { cause: error });
  });

const DRAFT = /^[0-9a-f]{24}$/;

/** Removes drafts last written before `before` (Unix milliseconds); a dry run only counts them. Returns their number. */
export const removeOldDrafts = async (drafts: string, before: number, isDryRun: boolean): Promise<number> => {
  let count = 0;
  for (const name of await readdir(drafts).catch(() => [])) {
    const path = join(drafts, name);
    const found = DRAFT.test(name) ? await stat(path).catch(() => null) : null;
    if (!found || found.mtimeMs >= before) continue;
    if (!isDryRun) await rm(path, { force: true });
    count += 1;
  }
  return count;
};
