import { createHash, randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { NamedKey } from './cipher.ts';

const KEY_BYTES = 32;

/**
 * Loads the master key, which encrypts all other keys: 32 bytes in a file of mode 0600. If the file does not exist and
 * `mayCreate` is true, creates it with a new key. `mayCreate` must be false if another master key was in use before,
 * because a new one cannot decrypt what that one encrypted.
 * @throws Error with a one-line message for the operator
 */
export const loadMasterKey = async (file: string, mayCreate: boolean): Promise<NamedKey> => {
  const key = (await readKey(file)) ?? (mayCreate ? await createKeyFile(file) : null);
  if (!key)
    throw new Error(`the master key ${file} is missing, but the log contains keys that it wrapped: restore it, or set MASTER_KEY_FILE`);
  if (key.length !== KEY_BYTES) throw new Error(`the master key ${file} must be ${KEY_BYTES} bytes, not ${key.length}`);
  return { kid: createHash('sha256').update('annals master key\0').update(key).digest('base64url').slice(0, 8), key };
};

const readKey = (file: string): Promise<Buffer | null> =>
  readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new Error(`the master key ${file} cannot be read: ${error.code}`);
  });

// Writes a new key to a temporary file, and then links that file to the final name. Linking fails if a file of that
// name exists. So if two processes start at the same time, both use the key of the process that links first.
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
