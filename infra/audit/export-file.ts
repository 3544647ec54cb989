import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { syncDirectory } from '../durable-files.ts';
import { type ExportLineKind, exportLine } from './verify-audit-export.mjs';

/** The number of characters that are collected before they are written. */
const WRITE_CHARACTERS = 1_000_000;

export type ExportWriter = { readonly line: (kind: ExportLineKind, text: string) => Promise<void> };

/**
 * Creates a writer of numbered lines. It also writes the last line, which contains the SHA-256 of all lines before it.
 */
const createWriter = (file: FileHandle) => {
  const hash = createHash('sha256');
  let count = 0;
  let pending = '';

  const flush = async (): Promise<void> => {
    await file.appendFile(pending);
    pending = '';
  };
  const line = async (kind: ExportLineKind, text: string): Promise<void> => {
    const written = exportLine(++count, kind, text);
    if (kind !== 'end') hash.update(written);
    pending += written;
    if (pending.length >= WRITE_CHARACTERS) await flush();
  };
  const end = async (): Promise<void> => {
    await line('end', JSON.stringify({ lines: count, sha256: hash.digest('hex') }));
    await flush();
    await file.sync();
  };
  return { line, end };
};

/**
 * Writes an export with the lines that `fill` writes. The file appears under its name only when it is complete and
 * durable. If anything fails, no file is left.
 * @throws Error with a one-line message for the operator if the file exists or cannot be written, and the errors of
 * `fill`
 */
export const writeExportFile = async (path: string, fill: (writer: ExportWriter) => Promise<void>): Promise<void> => {
  if (existsSync(path)) throw new Error(`${path} exists already: name a new file`);
  const partial = `${path}.${randomUUID()}.partial`;
  const file = await open(partial, 'wx', 0o600);
  try {
    const writer = createWriter(file);
    await fill(writer);
    await writer.end();
    await file.close();
    await rename(partial, path);
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(partial, { force: true });
    throw error;
  }
  syncDirectory(dirname(resolve(path)));
};
