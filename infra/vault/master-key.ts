import { createHash, randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { NamedKey } from './cipher.ts';

const BYTES = 32;

/**
 * The key that wraps all others: 32 bytes in a file of mode 0600. Made only where `mayCreate`, for with a new key everything that an older
 * one wrapped would be lost. @throws Error with one line for the operator
 */
export const loadMasterKey = async (file: string, mayCreate: boolean): Promise<NamedKey> => {
  const key = (await existing(file)) ?? (mayCreate ? await create(file) : null);
  if (!key)
    throw new Error(`the master key ${file} is missing, but the log holds keys that it wrapped: restore it, or set MASTER_KEY_FILE`);
  if (key.length !== BYTES) throw new Error(`the master key ${file} must be ${BYTES} bytes, not ${key.length}`);
  return { kid: createHash('sha256').update('annals master key\0').update(key).digest('base64url').slice(0, 8), key };
};

const existing = (file: string): Promise<Buffer | null> =>
  readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new Error(`the master key ${file} can't be read: ${error.code}`);
  });

// Written whole under another name and then linked: of two processes that start at once both go on with the key of the faster one.
const create = async (file: string): Promise<Buffer> => {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeDurably(draft, randomBytes(BYTES));
  await link(draft, file).catch(unlessExists);
  await unlink(draft);
  await syncDirectory(dirname(file));
  return readFile(file);
};

const unlessExists = (error: NodeJS.ErrnoException): void => {
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
