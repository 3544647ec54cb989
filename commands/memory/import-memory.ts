import { z } from 'zod';
import { text } from '../../domain/fields.ts';
import { type NewEntry, shownSource } from '../../domain/memory/memory-entry.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';
import { type FailedEgress, refusalOfEgress } from '../egress-failure.ts';
import { shownFilename } from '../files/filename.ts';
import type { Unpack } from '../skills/archive.ts';
import { createFileReader, type FileReader, FORMAT_HEAD_BYTES, formatOf } from './file-reader.ts';
import { locateGcsUri } from './gcs-location.ts';

export const MAX_MEMORY_FILE_BYTES = 25 * 1024 * 1024;

export const MemoryImportFields = z.strictObject({
  gcs_uri: text(0, 2_048)
    .optional()
    .meta({
      description:
        'In place of `file`: where the file is in Google Cloud Storage, as `gs://bucket/object` if it is public, or as a signed https URL',
      examples: ['gs://acme-notes/handbook.jsonl'],
    }),
});

export type FileHost = {
  /** Passes the file at a URL to `consume`. Throws only errors of `consume`; a failed download is in the result. */
  readonly download: <T>(
    url: string,
    consume: (content: AsyncIterable<Uint8Array>) => Promise<T>,
  ) => Promise<{ readonly value: T; readonly failed: null } | { readonly value: null; readonly failed: FailedEgress }>;
};

export type MemoryPorts = { readonly unpack: Unpack; readonly host: FileHost };

/** `pointer`: the request field that refers to the file. */
type IncomingFile = {
  readonly content: AsyncIterable<Uint8Array>;
  readonly filename: string;
  readonly contentType: string | null;
  readonly pointer: string;
  readonly source: string;
};

/** The first piece is large enough to detect the format of the file. */
async function* withHead(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const head: Uint8Array[] = [];
  let size = 0;
  for await (const bytes of content) {
    if (size >= FORMAT_HEAD_BYTES) {
      yield bytes;
      continue;
    }
    head.push(Uint8Array.from(bytes));
    size += bytes.length;
    if (size >= FORMAT_HEAD_BYTES) yield Buffer.concat(head);
  }
  if (size < FORMAT_HEAD_BYTES) yield Buffer.concat(head);
}

/**
 * Checks all of the content while it arrives; stores nothing if an entry is invalid.
 * @throws Refusal invalid, too_large, unavailable, and the errors of `content`
 */
const storeFile = async (ctx: Ctx, unpack: Unpack, file: IncomingFile): Promise<MemoryImport.MemoryFile> => {
  const { content, filename, contentType, pointer, source } = file;
  let format: MemoryImport.Format | undefined;
  let reader: FileReader | undefined;
  let entries = 0;
  const onEntries = (found: readonly NewEntry[]): void => {
    entries += found.length;
  };
  const checked = async function* () {
    for await (const bytes of withHead(content)) {
      format ??= formatOf(filename, contentType, bytes);
      reader ??= createFileReader(format, { unpack, pointer, source, onEntries });
      await reader.add(bytes);
      yield bytes;
    }
    await reader!.end();
  };
  const { sha256, size: size_bytes } = await ctx.blobs.put(checked());
  return { sha256, size_bytes, format: format!, source, entries };
};

type UploadedFile = Pick<IncomingFile, 'content' | 'filename' | 'contentType'>;

/** See `storeFile`. */
export const storeMemoryUpload = (ctx: Ctx, unpack: Unpack, { content, filename, contentType }: UploadedFile) =>
  storeFile(ctx, unpack, { content, filename, contentType, pointer: '/file', source: shownFilename(filename) });

/** Reads the file from Google Cloud Storage. @throws Refusal invalid, too_large, unavailable, bad_gateway */
const storeRemoteFile = async (ctx: Ctx, { unpack, host }: MemoryPorts, gcs_uri: string): Promise<MemoryImport.MemoryFile> => {
  const { url, filename, source } = locateGcsUri(gcs_uri);
  const pointer = '/gcs_uri';
  const { value, failed } = await host.download(url, (content) =>
    storeFile(ctx, unpack, { content, filename, contentType: null, pointer, source: shownSource(source) }),
  );
  if (failed) throw refusalOfEgress(failed, pointer);
  return value;
};

/** As in the response schema MemoryImportRead. */
const importView = ({ id, status, done, error, created_at }: MemoryImport.MemoryImport) => ({
  id,
  status,
  entries: status === 'failed' ? 0 : done,
  error,
  created_at,
});

/** A stored file, or one at Google Cloud Storage. */
export type ImportSource = { readonly file: MemoryImport.MemoryFile } | { readonly gcs_uri: string };

/** A worker completes the import. @throws Refusal not_found, invalid, too_large, unavailable, bad_gateway */
export const importMemory = async (
  ctx: Ctx,
  agent_id: string,
  source: ImportSource,
  ports: MemoryPorts,
): Promise<Loaded<ReturnType<typeof importView>>> => {
  const file = 'file' in source ? source.file : await ctx.sideEffect(() => storeRemoteFile(ctx, ports, source.gcs_uri));
  const loaded = await ctx.transact(MemoryImport, ctx.newId(), MemoryImport.start(agent_id, file), { expectNew: true });
  return { ...loaded, state: importView(loaded.state) };
};

const jobView = ({ id, status, done, entries: total, error, created_at, finished_at }: MemoryImport.MemoryImport) => ({
  ...{ id, kind: 'memory_import' as const, status: status === 'undone' ? 'cancelled' : status },
  ...{ done, total, error, target_agent_id: null, per_second: null, created_at, finished_at },
});

/** Read from the log, because the read model may not contain the import yet. Null if there is none. */
export const newImportJob = async (ctx: Ctx, id: string): Promise<{ agent_id: string; job: Loaded<ReturnType<typeof jobView>> } | null> => {
  const loaded = await ctx.load(MemoryImport, id);
  return loaded.revision < 0 ? null : { agent_id: loaded.state.agent_id, job: { ...loaded, state: jobView(loaded.state) } };
};

/** Does nothing if already canceled. Null if there is no such import. @throws Refusal conflict if the job has finished */
export const cancelMemoryImport = async (ctx: Ctx, id: string): Promise<Loaded<ReturnType<typeof jobView>> | null> => {
  if ((await ctx.load(MemoryImport, id)).revision < 0) return null;
  const loaded = await ctx.transact(MemoryImport, id, MemoryImport.cancel);
  return { ...loaded, state: jobView(loaded.state) };
};

/** Removes all entries of the import. @throws Refusal not_found */
export const undoMemoryImport = (ctx: Ctx, { agent_id, id }: { readonly agent_id: string; readonly id: string }) =>
  ctx.transact(MemoryImport, id, MemoryImport.undo(agent_id));

/** @throws Refusal invalid unless the form has exactly one of a file and a `gcs_uri` */
export const assertOneSource = (hasFile: boolean, gcs_uri: string | undefined): void => {
  const message = 'Exactly one of file and gcs_uri is required';
  const pointer = hasFile ? '/gcs_uri' : '/file';
  if (hasFile === Boolean(gcs_uri)) throw new Refusal('invalid', message, { errors: [{ pointer, code: 'one_source', message }] });
};
