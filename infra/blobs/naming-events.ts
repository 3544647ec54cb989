import { namedBlobs } from '../../domain/blob-references.ts';
import type { Recorded } from '../../domain/event.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import type { Log } from '../eventstore/event-log.ts';

/**
 * Yields the events because of which blobs must stay stored: all events of the log, except those of memory imports that
 * were undone. The events of the other memory imports come last.
 * @throws LogError unavailable, damaged
 */
export async function* eventsThatKeepBlobs(log: Log): AsyncGenerator<Recorded> {
  const imports = new Map<string, Recorded[]>();
  for await (const event of log.readAll()) {
    const { category, stream, type } = event;
    if (category !== MemoryImport.category) yield event;
    else if (type === 'MemoryImportUndone') imports.delete(stream);
    else if (namedBlobs(event).length > 0) imports.set(stream, [...(imports.get(stream) ?? []), event]);
  }
  for (const events of imports.values()) yield* events;
}
