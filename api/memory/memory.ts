import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { undoMemoryImport } from '../../commands/memory/import-memory.ts';
import type { RecordMemoryRead } from '../../commands/memory/memory-reads.ts';
import { text } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { MemoryEntry, memoryImports } from '../../projections/memory/memory-import.ts';
import { operation } from '../http/operation.ts';
import { listQuery } from '../http/paging.ts';
import { findMemoryEntry, memoryPage } from './memory-page.ts';

const MEMORY = '/tenant/:tenant_id/agents/:agent_id/memory';

/** Creates the operations on the memory of an agent, except the import. */
export const memoryOperationsOf = (recordRead: RecordMemoryRead) => ({
  listMemory: operation({
    method: 'get',
    path: MEMORY,
    summary: 'List the memory of an agent',
    details:
      'The entries of an import appear together, when it is finished. A search through a large memory can return a page with fewer entries than `limit`, or without any, and a `Link` to the next page. What a runner reads is recorded in the audit log of the tenant, once an hour and runner key.',
    permit: { all: ['agent:read'], runner: true },
    query: listQuery({
      q: text(1, 255).optional().meta({ description: 'Only entries whose text or source contains this, in upper or lower case' }),
      import_id: Id25.optional().meta({ description: 'Only entries of this import' }),
    }),
    reply: z.array(MemoryEntry),
    projection: memoryImports.name,
    run: async (ctx, { agent_id, q, import_id, ...window }) => {
      await loadAgent(ctx, agent_id);
      const { count, ...page } = await memoryPage(ctx, { agent_id, q, import_id }, window);
      await recordRead(ctx, agent_id, count);
      return page;
    },
  }),
  getMemoryEntry: operation({
    method: 'get',
    path: `${MEMORY}/:entry_id`,
    summary: 'Read an entry of the memory of an agent',
    details: 'An entry never changes. After the undoing of its import, the response is 404.',
    permit: { all: ['agent:read'], runner: true },
    reply: MemoryEntry,
    projection: memoryImports.name,
    noETag: true,
    run: async (ctx, { agent_id, entry_id }) => {
      await loadAgent(ctx, agent_id);
      const entry = await findMemoryEntry(ctx, agent_id, entry_id);
      if (entry === null) return null;
      await recordRead(ctx, agent_id, 1);
      return { doc: entry, revision: null };
    },
  }),
  undoMemoryImport: operation({
    method: 'delete',
    path: `${MEMORY}/imports/:id`,
    summary: 'Undo an import into the memory of an agent',
    details: 'Removes all entries of the import at once. An import that still runs ends without entries.',
    permit: 'agent:settings:write',
    run: undoMemoryImport,
  }),
});
