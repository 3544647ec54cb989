import { randomBytes } from 'node:crypto';
import {
  access,
  constants,
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  type BlobBackend,
  type BlobDraft,
  type BlobName,
  BlobReplaced,
  DRAFTS,
  type SealedBytes,
  type StoredEntry,
} from './blob-backend.ts';

const READ_BYTES = 256 * 1_024;
const MIB = 1_024 * 1_024;
/** The store counts as unusable if less space than this is free on its disk. */
const MIN_FREE_BYTES = 64 * MIB;

/** The suffix of a file that `annals blobs gc` is about to remove. */
export const REMOVAL_SUFFIX = '.removing';

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Creates a hard link. Returns false if another file already has the name. */
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

export const blobPath = (root: string, { tenant, sha256 }: BlobName): string => join(root, tenant, sha256.slice(0, 2), sha256);

/** Null if missing. `annals blobs gc` renames a file before removing it, so the file is also looked for under that name. */
const openFile = async (path: string): Promise<FileHandle | null> =>
  (await orNull(open(path, 'r'))) ?? (await orNull(open(path + REMOVAL_SUFFIX, 'r'))) ?? orNull(open(path, 'r'));

/** Returns a text that identifies a file, even if its modification time is changed. */
const identityOf = ({ ino, birthtimeMs }: { readonly ino: number; readonly birthtimeMs: number }): string => `${ino}-${birthtimeMs}`;

type Beginning = { readonly name: BlobName; readonly path: string; readonly identity: string; readonly length: number };

async function* restOf({ name, path, identity, length }: Beginning): AsyncGenerator<Buffer> {
  const file = await openFile(path);
  if (!file) throw new Error(`${path} was removed while it was read`);
  await using handle = file;
  if (identityOf(await handle.stat()) !== identity) throw new BlobReplaced(name);
  yield* bytesFrom(handle, length);
}

/** The directory of the store itself may not exist before the first put. */
const existingDirectory = async (path: string): Promise<string> => ((await orNull(stat(path))) ? path : existingDirectory(dirname(path)));

const versionOf = ({ ino, mtimeMs }: { readonly ino: number; readonly mtimeMs: number }): string => `${ino}-${mtimeMs}`;

const TENANT = /^[a-z0-9]{1,64}$/;
const FILE = /^([0-9a-f]{64})(\.removing)?$/;

const namesIn = async (path: string): Promise<string[]> => (await orNull(readdir(path))) ?? [];

/** Renames a file back. If the blob was stored again in the meantime, the new file is kept instead. */
const restore = async (path: string): Promise<void> => {
  await orNull(linked(path + REMOVAL_SUFFIX, path));
  await rm(path + REMOVAL_SUFFIX, { force: true });
};

/**
 * Renames the file first, so that storing the blob from then on writes a new file. If it was stored just before, the file is renamed back.
 */
const removeUnchanged = async (path: string, version: string): Promise<boolean> => {
  const removing = path + REMOVAL_SUFFIX;
  if (!(await orNull(rename(path, removing).then(() => true)))) return false;
  const found = await orNull(stat(removing));
  if (!found) return false;
  if (versionOf(found) !== version) {
    await restore(path);
    return false;
  }
  await rm(removing, { force: true });
  return true;
};

async function* storedEntries(root: string, only?: string): AsyncGenerator<StoredEntry> {
  const tenants = only === undefined ? await namesIn(root) : [only];
  for (const tenant of tenants.filter((name) => name !== DRAFTS && TENANT.test(name)))
    for (const group of await namesIn(join(root, tenant)))
      for (const file of await namesIn(join(root, tenant, group))) {
        const [, sha256, suffix] = FILE.exec(file) ?? [];
        if (!sha256) continue;
        const path = blobPath(root, { tenant, sha256 });
        if (suffix) await restore(path);
        const found = await orNull(stat(path));
        if (found) yield { tenant, sha256, sealedSize: found.size, storedAt: found.mtimeMs, version: versionOf(found) };
      }
}

/** Returns whether the blob is stored and intact. If it is, its time of storage is set to now. */
const renewed = async (path: string, isIntact: () => Promise<boolean>): Promise<boolean> => {
  if (!(await isIntact())) return false;
  const now = new Date();
  return (await orNull(utimes(path, now, now).then(() => true))) ?? false;
};

const probe = async (root: string): Promise<number> => {
  const dir = await existingDirectory(root);
  await access(dir, constants.W_OK | constants.R_OK | constants.X_OK);
  const { bavail, bsize } = await statfs(dir);
  if (bavail * bsize < MIN_FREE_BYTES) {
    const message = `only ${Math.floor((bavail * bsize) / MIB)} MiB are free in ${dir}; at least ${MIN_FREE_BYTES / MIB} MiB are needed`;
    throw Object.assign(new Error(message), { code: 'ENOSPC' });
  }
  return bavail * bsize;
};

const check = async (root: string): Promise<string> => {
  const free = await probe(root);
  const path = join(await existingDirectory(root), `.annals-probe-${randomBytes(8).toString('hex')}`);
  try {
    await writeFile(path, 'annals doctor', { mode: 0o600, flag: 'wx', flush: true });
    if ((await readFile(path, 'utf8')) !== 'annals doctor') throw new Error(`${root} returned other bytes than it was sent`);
  } finally {
    await rm(path, { force: true });
  }
  return `${root} can be written and read, ${Math.floor(free / MIB)} MiB are free`;
};

/** A file gets its final name only when all its bytes are durable, so no crash leaves an incomplete file. */
export const openBlobDirectory = (root: string): BlobBackend => {
  const store = async (name: BlobName, { path: draft }: BlobDraft, isIntact: () => Promise<boolean>): Promise<void> => {
    const path = blobPath(root, name);
    if (!(await renewed(path, isIntact))) {
      await syncPath(draft);
      await makeDurableDirectory(dirname(path));
      // Never replace an intact file: a request may be reading it, and encrypting the same blob again gives other
      // bytes.
      if (!(await linked(draft, path)) && !(await renewed(path, isIntact))) await rename(draft, path);
    }
    await syncPath(dirname(path));
  };

  const read = async (name: BlobName, headBytes: number): Promise<SealedBytes | null> => {
    const path = blobPath(root, name);
    const file = await openFile(path);
    if (!file) return null;
    await using handle = file;
    const found = await handle.stat();
    const head = await readHead(handle, Math.min(headBytes, found.size));
    const beginning = { name, path, identity: identityOf(found), length: head.length };
    return { sealedSize: found.size, head, rest: () => restOf(beginning) };
  };

  const replace = async (name: BlobName, { path: draft }: BlobDraft): Promise<void> => {
    const path = blobPath(root, name);
    await syncPath(draft);
    if (!(await orNull(stat(path)))) return;
    await rename(draft, path);
    await syncPath(dirname(path));
  };

  return {
    store,
    replace,
    read,
    sealedSizeOf: async (name) => {
      const path = blobPath(root, name);
      const found = (await orNull(stat(path))) ?? (await orNull(stat(path + REMOVAL_SUFFIX))) ?? (await orNull(stat(path)));
      return found?.size ?? null;
    },
    list: (tenant) => storedEntries(root, tenant),
    remove: ({ version, ...name }) => removeUnchanged(blobPath(root, name), version),
    // The drafts of interrupted uploads are in another directory, from which `removeOldDrafts` removes them.
    removeDrafts: async () => 0,
    probe: async () => void (await probe(root)),
    check: () => check(root),
  };
};
