import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { createExportLines, type ExportKind } from '../../domain/audit/export-lines.ts';
import { syncDirectory } from '../durable-files.ts';

/** The number of characters that are collected before they are written. */
const WRITE_CHARACTERS = 1_000_000;

export type ExportWriter = { readonly line: (kind: ExportKind, text: string) => Promise<void> };

/** `end` writes the last line. */
const createWriter = (file: FileHandle) => {
  const lines = createExportLines();
  let pending = '';

  const flush = async (): Promise<void> => {
    await file.appendFile(pending);
    pending = '';
  };
  const line = async (kind: ExportKind, text: string): Promise<void> => {
    pending += lines.line(kind, text);
    if (pending.length >= WRITE_CHARACTERS) await flush();
  };
  const end = async (): Promise<void> => {
    pending += lines.end();
    await flush();
  };
  return { line, end };
};

/** @throws Error with a one-line message for the operator */
export const refuseExisting = (path: string): void => {
  if (existsSync(path)) throw new Error(`${path} exists already: name a new file`);
};

/**
 * The file appears under its name only when it is complete and durable; after a failure, no file is left.
 * @throws Error with a one-line message for the operator if the file exists or cannot be written, and the errors of `fill`
 */
const writeNewFile = async (path: string, fill: (file: FileHandle) => Promise<void>): Promise<void> => {
  refuseExisting(path);
  const partial = `${path}.${randomUUID()}.partial`;
  const file = await open(partial, 'wx', 0o600);
  try {
    await fill(file);
    await file.sync();
    await file.close();
    await rename(partial, path);
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(partial, { force: true });
    throw error;
  }
  syncDirectory(dirname(resolve(path)));
};

/** @throws as `writeNewFile` */
export const writeExportFile = (path: string, fill: (writer: ExportWriter) => Promise<void>): Promise<void> =>
  writeNewFile(path, async (file) => {
    const writer = createWriter(file);
    await fill(writer);
    await writer.end();
  });

/** @throws as `writeNewFile`, and the errors of `bytes` */
export const saveExportFile = (path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> =>
  writeNewFile(path, async (file) => {
    for await (const chunk of bytes) await file.appendFile(chunk);
  });
