import { createHash, randomBytes } from 'node:crypto';
import { chmod, chown, link, mkdir, open, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { NamedKey } from './cipher.ts';

const KEY_BYTES = 32;

/** The suffix of the file with the next master key, beside MASTER_KEY_FILE, during a rotation. */
export const NEXT_SUFFIX = '.next';
/** A replaced key is in a file named MASTER_KEY_FILE, this suffix, and the id of the key. */
export const OLD_SUFFIX = '.old-';

/**
 * The master key encrypts all other keys: 32 bytes in a file of mode 0600. With `mayCreate`, a missing file gets a new key: not if keys are
 * already encrypted with another master key, because a new one could not decrypt them.
 * @throws Error with a one-line message for the operator
 */
export const loadMasterKey = async (file: string, mayCreate: boolean): Promise<NamedKey> => {
  const key = (await readKey(file)) ?? (mayCreate ? await createKeyFile(file) : null);
  if (!key)
    throw new Error(`the master key ${file} is missing, but the log contains keys that it encrypted: restore it, or set MASTER_KEY_FILE`);
  if (key.length !== KEY_BYTES) throw new Error(`the master key ${file} must be ${KEY_BYTES} bytes, not ${key.length}${adviceFor(key)}`);
  return named(key);
};

/** Returns advice on a file to which an editor, or a command such as `echo`, has added a line end. */
const adviceFor = (key: Buffer): string =>
  key.length === KEY_BYTES + 1 && key.at(-1) === 10 ? ': remove the line end after them, for example with head -c 32' : '';

const named = (key: Buffer): NamedKey => ({
  kid: createHash('sha256').update('annals master key\0').update(key).digest('base64url').slice(0, 8),
  key,
});

/** Reads a master key from a file beside MASTER_KEY_FILE; null if the file does not exist or is not complete yet. */
export const readCompanion = async (path: string): Promise<NamedKey | null> => {
  const key = await readKey(path).catch(() => null);
  return key?.length === KEY_BYTES ? named(key) : null;
};

/** Copies the owner and the mode, so that the same users can read both files. */
const copyAccess = async (file: string, path: string): Promise<void> => {
  const [wanted, found] = [await stat(file), await stat(path)];
  if (wanted.uid !== found.uid || wanted.gid !== found.gid) await chown(path, wanted.uid, wanted.gid);
  if (wanted.mode !== found.mode) await chmod(path, wanted.mode & 0o777);
};

/**
 * Reads the file beside MASTER_KEY_FILE. If missing, it is created for the same users.
 * @throws Error with a one-line message for the operator
 */
export const ensureNextKey = async (file: string): Promise<NamedKey> => {
  const path = file + NEXT_SUFFIX;
  const found = await readKey(path);
  const key = found ?? (await createKeyFile(path).catch((error: unknown) => throwAsAdvice(path, error)));
  // If the operator has provided the file, changing its owner or mode may be impossible, as in some mounted directories.
  await copyAccess(file, path).catch((error: unknown) => found ?? throwAsAdvice(path, error));
  if (key.length !== KEY_BYTES) throw new Error(`the next master key ${path} must be ${KEY_BYTES} bytes, not ${key.length}`);
  return named(key);
};

const throwAsAdvice = (path: string, error: unknown): never => {
  const { code, message } = error as NodeJS.ErrnoException;
  throw new Error(
    `${path} cannot be written (${code ?? message}): put a file of ${KEY_BYTES} random bytes there, with mode 0600, and repeat`,
  );
};

/**
 * Replaces the key file by the file of the next key, which must be `kid`. MASTER_KEY_FILE contains a key at every moment; the old one is
 * kept in a separate file. Does nothing if it already contains `kid`.
 * @throws Error with a one-line message for the operator
 */
export const replaceMasterKey = async (file: string, kid: string): Promise<void> => {
  const main = await loadMasterKey(file, false);
  if (main.kid === kid) return;
  const next = file + NEXT_SUFFIX;
  if ((await readCompanion(next))?.kid !== kid) throw new Error(`${next} is not the master key ${kid}: restore it, and repeat`);
  try {
    await link(file, `${file}${OLD_SUFFIX}${main.kid}`).catch(ignoreExisting);
    await syncDirectory(dirname(file));
    await rename(next, file);
    await syncDirectory(dirname(file));
  } catch (error) {
    // Another process may have replaced the key at the same time.
    if ((await loadMasterKey(file, false)).kid === kid) return;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`${file} cannot be replaced (${code ?? message}): copy ${next} to it, and repeat`);
  }
};

const readKey = (file: string): Promise<Buffer | null> =>
  readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new Error(`the master key ${file} cannot be read: ${error.code}`);
  });

// Writes a new key to a temporary file, and then creates a hard link to it with the final name. This fails if a file
// with that name exists. So if two processes start at the same time, both use the key of the process that creates the
// link first.
const createKeyFile = async (file: string): Promise<Buffer> => {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeDurably(draft, randomBytes(KEY_BYTES));
  await link(draft, file).catch(ignoreExisting);
  await unlink(draft);
  await syncDirectory(dirname(file));
  return readFile(file);
};

const ignoreExisting = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EEXIST') throw error;
};

const writeDurably = async (file: string, bytes: Uint8Array): Promise<void> => {
  await using handle = await open(file, 'wx', 0o600);
  await handle.writeFile(bytes);
  await handle.sync();
};

const syncDirectory = async (directory: string): Promise<void> => {
  await using handle = await open(directory, 'r');
  await handle.sync();
};
