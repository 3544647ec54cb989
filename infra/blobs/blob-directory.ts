import { type FileHandle, link, mkdir, open, rename, stat, utimes } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { BlobBackend, BlobDraft, BlobName } from './blob-backend.ts';

const READ_BYTES = 256 * 1_024;

/** The end of the name of a file that `annals blobs gc` is about to remove. */
export const REMOVAL_SUFFIX = '.removing';

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Gives a file a second name. @returns whether it did; false if another file has that name */
const linked = async (path: string, name: string): Promise<boolean> => {
  try {
    await link(path, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

const orNull = async <T>(work: Promise<T>): Promise<T | null> => {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
};

const syncPath = async (path: string): Promise<void> => {
  await using handle = await open(path, 'r');
  await handle.sync();
};

/** Creates a directory and its missing parents, and flushes them, so that they survive a power failure. */
export const makeDurableDirectory = async (path: string): Promise<void> => {
  const firstCreated = await mkdir(path, { recursive: true, mode: 0o700 });
  if (firstCreated === undefined) return;
  for (let created = resolve(path); created.length >= resolve(firstCreated).length; created = dirname(created))
    await syncPath(dirname(created));
};

async function* bytesFrom(handle: FileHandle, from: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let at = from; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

const readHead = async (handle: FileHandle, length: number): Promise<Buffer> => {
  const head = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(head, filled, length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return head.subarray(0, filled);
};

/** The file of a content in the directory of the store. */
export const blobPath = (root: string, { tenant, sha256 }: BlobName): string => join(root, tenant, sha256.slice(0, 2), sha256);

/**
 * Opens the file of a content. For a moment, `annals blobs gc` may have renamed it, only to find that it is needed: so a
 * missing file is looked for under its other name, too.
 */
const openFile = async (path: string): Promise<FileHandle | null> =>
  (await orNull(open(path, 'r'))) ?? (await orNull(open(path + REMOVAL_SUFFIX, 'r'))) ?? orNull(open(path, 'r'));

async function* restOf(path: string, from: number): AsyncGenerator<Buffer> {
  const file = await openFile(path);
  if (!file) throw new Error(`${path} was removed while it was read`);
  await using handle = file;
  yield* bytesFrom(handle, from);
}

/**
 * Stores contents as files of a directory. A file gets its name only after all its bytes are on the disk, so no crash
 * leaves a file that is incomplete.
 */
export const openBlobDirectory = (root: string): BlobBackend => {
  /** Whether the content is stored and intact. If so, it counts as stored now. */
  const renewed = async (path: string, isIntact: () => Promise<boolean>): Promise<boolean> => {
    if (!(await isIntact())) return false;
    const now = new Date();
    return (await orNull(utimes(path, now, now).then(() => true))) ?? false;
  };

  const store = async (name: BlobName, { path: draft }: BlobDraft, isIntact: () => Promise<boolean>): Promise<void> => {
    const path = blobPath(root, name);
    if (!(await renewed(path, isIntact))) {
      await syncPath(draft);
      await makeDurableDirectory(dirname(path));
      // An intact file is never replaced: someone may be reading it, and the same content is sealed differently each time.
      if (!(await linked(draft, path)) && !(await renewed(path, isIntact))) await rename(draft, path);
    }
    await syncPath(dirname(path));
  };

  return {
    store,
    read: async (name, headBytes) => {
      const path = blobPath(root, name);
      const file = await openFile(path);
      if (!file) return null;
      await using handle = file;
      const { size } = await handle.stat();
      const head = await readHead(handle, Math.min(headBytes, size));
      return { sealedSize: size, head, rest: () => restOf(path, head.length) };
    },
    sealedSizeOf: async (name) => {
      const path = blobPath(root, name);
      const found = (await orNull(stat(path))) ?? (await orNull(stat(path + REMOVAL_SUFFIX))) ?? (await orNull(stat(path)));
      return found?.size ?? null;
    },
  };
};
