import type { Decision } from '../../domain/aggregate.ts';
import type { NewEntry } from '../../domain/memory/memory-entry.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, ReactorCtx } from '../context.ts';
import type { Unpack } from '../skills/archive.ts';
import { createFileReader } from './file-reader.ts';
import { createSegmentWriter } from './memory-segment.ts';

type ImportCtx = Pick<ReactorCtx, 'load' | 'transact'> & Pick<Ctx, 'blobs'>;

type Decide = Decision<MemoryImport.MemoryImport, MemoryImport.MemoryImportEvent>;

export type FileImport = { readonly id: string; readonly unpack: Unpack };

/** Progress is recorded after this many entries. If the import was undone by then, it ends. */
const ADVANCE_ENTRIES = 10_000;

/** The import was undone while it was running. */
class ImportEnded extends Error {}

/** Stores in segments, and records the progress. @throws ImportEnded, Refusal */
const storeEntries = async (ctx: ImportCtx, { id, unpack }: FileImport, memory: MemoryImport.MemoryImport): Promise<Decide> => {
  const blob = await ctx.blobs.get(memory.sha256);
  if (!blob) return MemoryImport.fail('The file is no longer stored');
  const writer = createSegmentWriter(ctx.blobs);
  let next = memory.done + ADVANCE_ENTRIES;
  const onEntries = async (entries: readonly NewEntry[]): Promise<void> => {
    await writer.add(entries);
    if (writer.stored() < next) return;
    next = writer.stored() + ADVANCE_ENTRIES;
    const { state } = await ctx.transact(MemoryImport, id, MemoryImport.advance(writer.stored()));
    if (state.status !== 'running') throw new ImportEnded();
  };
  const reader = createFileReader(memory.format, { unpack, pointer: '', source: memory.source, onEntries });
  for await (const bytes of blob.content) await reader.add(bytes);
  await reader.end();
  return MemoryImport.finish(await writer.finish());
};

/**
 * Stores the entries, then adds all to the memory at the same moment. A repeat after a crash stores the same contents, which changes
 * nothing.
 * @throws Error if the log or the file store cannot be reached; the import can then be tried again
 */
export const finishImport = async (ctx: ImportCtx, file: FileImport): Promise<void> => {
  const { state: memory } = await ctx.load(MemoryImport, file.id);
  if (memory.status !== 'running') return;
  const decide = await storeEntries(ctx, file, memory).catch((error: unknown) => {
    if (error instanceof ImportEnded) return null;
    if (error instanceof Refusal && (error.code === 'invalid' || error.code === 'too_large')) return MemoryImport.fail(error.message);
    throw error;
  });
  if (decide) await ctx.transact(MemoryImport, file.id, decide);
};
