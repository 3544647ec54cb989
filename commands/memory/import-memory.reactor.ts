import type { Decision } from '../../domain/aggregate.ts';
import type { NewEntry } from '../../domain/memory/memory-entry.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Blobs } from '../blobs.ts';
import type { Unpack } from '../skills/archive.ts';
import { createFileReader } from './file-reader.ts';
import { createSegmentWriter } from './memory-segment.ts';

export const IMPORTER = { kind: 'system', id: 'annals' } as const;

export type ImportRef = { readonly tenant_id: string; readonly id: string };

type Decide = Decision<MemoryImport.MemoryImport, MemoryImport.MemoryImportEvent>;

/** The functions that the reactor needs. They throw if the log or the file store cannot be reached. */
export type ImporterPorts = {
  readonly unpack: Unpack;
  readonly blobsOf: (tenant_id: string) => Blobs;
  readonly load: (ref: ImportRef) => Promise<MemoryImport.MemoryImport>;
  readonly transact: (ref: ImportRef, decide: Decide) => Promise<MemoryImport.MemoryImport>;
};

/** After this many entries, an event records how far the import has come. If the import was undone by then, it ends. */
const ADVANCE_ENTRIES = 10_000;

/** Thrown if the import was undone while it was running. */
class ImportEnded extends Error {}

/** Stores the entries of an import in segments, and records the progress. @throws ImportEnded, Refusal */
const storeEntries = async (ports: ImporterPorts, ref: ImportRef, memory: MemoryImport.MemoryImport): Promise<Decide> => {
  const blobs = ports.blobsOf(ref.tenant_id);
  const blob = await blobs.get(memory.sha256);
  if (!blob) return MemoryImport.fail('The file is no longer stored');
  const writer = createSegmentWriter(blobs);
  let next = memory.done + ADVANCE_ENTRIES;
  const onEntries = async (entries: readonly NewEntry[]): Promise<void> => {
    await writer.add(entries);
    if (writer.stored() < next) return;
    next = writer.stored() + ADVANCE_ENTRIES;
    const { status } = await ports.transact(ref, MemoryImport.advance(writer.stored()));
    if (status !== 'running') throw new ImportEnded();
  };
  const reader = createFileReader(memory.format, { unpack: ports.unpack, pointer: '', source: memory.source, onEntries });
  for await (const bytes of blob.content) await reader.add(bytes);
  await reader.end();
  return MemoryImport.finish(await writer.finish());
};

/**
 * Completes a running import: stores its entries, and then adds all of them to the memory at the same moment. If this
 * is repeated after a crash, the same contents are stored again, which changes nothing.
 * @throws the errors of the ports; the import can then be tried again
 */
export const finishImport = async (ports: ImporterPorts, ref: ImportRef): Promise<void> => {
  const memory = await ports.load(ref);
  if (memory.status !== 'running') return;
  const decide = await storeEntries(ports, ref, memory).catch((error: unknown) => {
    if (error instanceof ImportEnded) return null;
    if (error instanceof Refusal && (error.code === 'invalid' || error.code === 'too_large')) return MemoryImport.fail(error.message);
    throw error;
  });
  if (decide) await ports.transact(ref, decide);
};
