import { type NamingEvent, namedBlobs } from '../../domain/blob-references.ts';
import type { Recorded } from '../../domain/event.ts';
import * as AgentMemory from '../../domain/memory/agent-memory.ts';
import { indexOfEntry } from '../../domain/memory/entry-id.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import type { Log } from '../eventstore/event-log.ts';

type MemoryEvent = Recorded<MemoryImport.MemoryImportEvent | AgentMemory.AgentMemoryEvent>;

/** The events of one stream that refer to stored blobs. The key is the revision of the event or the index of its entry. */
type Kept = Map<number, NamingEvent>;

/** Returns the part of an event that is kept in memory until the log has been read: all but its snapshot, which can be large. */
const withoutSnapshot = ({ event_id, tenant, type, data, meta: { facts } }: Recorded): NamingEvent => ({
  ...{ event_id, tenant, type, data },
  meta: facts === undefined ? {} : { facts },
});

const forget = (kept: Kept, ranges: readonly AgentMemory.EntryRange[]): void => {
  for (const { first, last } of ranges) for (let index = indexOfEntry(first); index <= indexOfEntry(last); index++) kept.delete(index);
};

const applyTo = (kept: Kept, event: MemoryEvent): void => {
  if (event.type === 'MemoryImportUndone') kept.clear();
  else if (event.type === 'MemoryForgotten') forget(kept, event.data.ranges);
  else if (event.type === 'MemoryRemembered') kept.set(indexOfEntry(event.data.entry_id), withoutSnapshot(event));
  else if (namedBlobs(event).length > 0) kept.set(event.revision, withoutSnapshot(event));
};

const CATEGORIES: readonly string[] = [MemoryImport.category, AgentMemory.category];

/**
 * Yields all events of the log, except those of undone memory imports and of forgotten entries. Other events of memories come last.
 * @throws LogError unavailable, damaged
 */
export async function* eventsThatKeepBlobs(log: Log): AsyncGenerator<NamingEvent> {
  const memories = new Map<string, Kept>();
  for await (const event of log.readAll()) {
    if (!CATEGORIES.includes(event.category)) {
      yield event;
      continue;
    }
    const kept = memories.get(event.stream) ?? new Map();
    memories.set(event.stream, kept);
    applyTo(kept, event as MemoryEvent);
  }
  for (const kept of memories.values()) yield* kept.values();
}
