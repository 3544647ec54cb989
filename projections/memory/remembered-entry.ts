import * as AgentMemory from '../../domain/memory/agent-memory.ts';
import { entryIdOf, indexOfEntry } from '../../domain/memory/entry-id.ts';
import { add, type Change, type Handler, insert, remove } from '../projection.ts';
import type { Table } from '../table.ts';

/** The entries that agents remember. Their texts are only in the file store, under the digest `sha256`. */
export const rememberedTable = {
  name: 'remembered',
  key: ['tenant_id', 'id'],
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    sha256: 'text',
    session_id: 'text',
    created_by_id: 'text',
    runner_key_id: 'text',
    created_at: 'timestamptz',
  },
  docs: {},
  indexes: [{ columns: ['tenant_id', 'agent_id', 'created_at', 'id'] }],
} as const satisfies Table;

/**
 * How often the memory of an agent has changed: by imports, by the undoing of imports, and by what the agent remembered
 * and forgot. `remembered` is the number of entries that it remembers.
 */
export const changeTable = {
  name: 'changes',
  key: ['tenant_id', 'agent_id'],
  columns: { tenant_id: 'text', agent_id: 'text' },
  counters: ['changes', 'remembered'],
  countersOnly: true,
  docs: {},
} as const satisfies Table;

/** Counts a change of a memory that adds (or, if it is negative, removes) this many remembered entries. */
export const changed = (tenant_id: string, agent_id: string, remembered = 0): Change =>
  add('changes', { tenant_id, agent_id }, { changes: 1, ...(remembered !== 0 && { remembered }) });

type Handlers = { readonly [T in AgentMemory.AgentMemoryEvent['type']]: Handler<Extract<AgentMemory.AgentMemoryEvent, { type: T }>> };

/** Returns the ids of the entries from `first` to `last`. */
const idsIn = (agent_id: string, { first, last }: AgentMemory.EntryRange): string[] => {
  const start = indexOfEntry(first);
  return Array.from({ length: indexOfEntry(last) - start + 1 }, (_, n) => entryIdOf(agent_id, start + n));
};

export const onRemembered = {
  MemoryRemembered: (event) => {
    const { tenant: tenant_id, data } = event;
    return [
      insert('remembered', { tenant_id, agent_id: data.agent_id, ...AgentMemory.entryOf(event) }),
      changed(tenant_id, data.agent_id, 1),
    ];
  },
  MemoryForgotten: ({ tenant: tenant_id, data: { agent_id, entries, ranges } }) => [
    ...ranges.flatMap((range) => idsIn(agent_id, range)).map((id) => remove('remembered', { tenant_id, id })),
    changed(tenant_id, agent_id, -entries),
  ],
} as const satisfies Handlers;
