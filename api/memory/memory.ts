import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { undoMemoryImport } from '../../commands/memory/import-memory.ts';
import { text } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { MemoryEntry, memoryImports } from '../../projections/memory/memory-import.ts';
import { operation } from '../http/operation.ts';
import { listQuery } from '../http/paging.ts';
import { memoryPage } from './memory-page.ts';

const MEMORY = '/tenant/:tenant_id/agents/:agent_id/memory';

/** The operations on the memory of an agent, except the import. */
export const memoryOperations = {
  listMemory: operation({
    method: 'get',
    path: MEMORY,
    summary: 'List the memory of an agent',
    details:
      'The entries of an import appear together, when it is finished. A search through a large memory can return a page with fewer entries than `limit`, or without any, and a `Link` to the next page.',
    permit: 'agent:read',
    query: listQuery({
      q: text(1, 255).optional().meta({ description: 'Only entries whose text or source contains this, in upper or lower case' }),
      import_id: Id25.optional().meta({ description: 'Only entries of this import' }),
    }),
    reply: z.array(MemoryEntry),
    projection: memoryImports.name,
    run: async (ctx, { agent_id, q, import_id, ...window }) => {
      await loadAgent(ctx, agent_id);
      return memoryPage(ctx, { agent_id, q, import_id }, window);
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
};
