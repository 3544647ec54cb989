import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { undoMemoryImport } from '../../commands/memory/import-memory.ts';
import type { RecordMemoryRead } from '../../commands/memory/memory-reads.ts';
import { forgetEntry, forgetSince, MemoryForget, MemoryRemember, remember } from '../../commands/memory/remember.ts';
import { text } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { MAX_REMEMBERED, MAX_REMEMBERED_A_DAY } from '../../domain/memory/agent-memory.ts';
import { isEntryOf } from '../../domain/memory/entry-id.ts';
import { conflict, notFound } from '../../domain/refusal.ts';
import { MemoryEntry, memoryImports, ORIGINS } from '../../projections/memory/memory-import.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { listQuery } from '../http/paging.ts';
import { findMemoryEntry, importOf, memoryPage } from './memory-page.ts';

const MEMORY = '/tenant/:tenant_id/agents/:agent_id/memory';

/** Removes a remembered entry. @throws Refusal conflict if the entry is of an import, not_found if there is none */
const forgetRemembered = async (ctx: Ctx, agent_id: string, entry_id: string) => {
  await loadAgent(ctx, agent_id);
  if (isEntryOf(agent_id, entry_id)) return forgetEntry(ctx, agent_id, entry_id);
  const file = await importOf(ctx, agent_id, entry_id);
  if (!file) throw notFound();
  const detail = `This entry is from an import, and is removed together with it: undo the import with DELETE …/memory/imports/${file.id}`;
  throw conflict('/path/entry_id', 'imported_entry', detail, { import_id: file.id });
};

/** Creates the operations on the memory of an agent, except the import. */
export const memoryOperationsOf = (recordRead: RecordMemoryRead) => ({
  listMemory: operation({
    method: 'get',
    path: MEMORY,
    summary: 'List the memory of an agent',
    details:
      'The entries of an import appear together, when it is finished; what the agent remembers, at once. A search through a large memory can return a page with fewer entries than `limit`, or without any, and a `Link` to the next page. What a runner reads is recorded in the audit log of the tenant, once an hour and runner key.',
    permit: { all: ['agent:read'], runner: true },
    query: listQuery({
      q: text(1, 255).optional().meta({ description: 'Only entries whose text or source contains this, in upper or lower case' }),
      origin: z.enum(ORIGINS).optional().meta({ description: 'Only entries of files, or only what was remembered' }),
      import_id: Id25.optional().meta({ description: 'Only entries of this import' }),
    }),
    reply: z.array(MemoryEntry),
    projection: memoryImports.name,
    run: async (ctx, { agent_id, q, import_id, origin, ...window }) => {
      await loadAgent(ctx, agent_id);
      const { count, ...page } = await memoryPage(ctx, { agent_id, q, import_id, origin }, window);
      await recordRead(ctx, agent_id, count);
      return page;
    },
  }),
  getMemoryEntry: operation({
    method: 'get',
    path: `${MEMORY}/:entry_id`,
    summary: 'Read an entry of the memory of an agent',
    details: 'An entry never changes. After it was removed, or its import undone, the response is 404.',
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
  remember: operation({
    method: 'post',
    path: MEMORY,
    summary: 'Add an entry to the memory of an agent',
    details: `The agent itself does this with its runner key, or a person for it. The text and its source are redacted with the patterns of the tenant, and stored encrypted in the file store. An agent remembers at most ${MAX_REMEMBERED} entries (409 \`memory_full\`), and a runner key adds at most ${MAX_REMEMBERED_A_DAY} in a day (UTC; 429).`,
    permit: { all: ['agent:settings:write'], runner: true },
    body: MemoryRemember,
    reply: MemoryEntry,
    status: 201,
    location: `${MEMORY}/:id`,
    noETag: true,
    run: remember,
  }),
  forgetMemoryEntry: operation({
    method: 'delete',
    path: `${MEMORY}/:entry_id`,
    summary: 'Remove a remembered entry',
    details: 'An entry of an import is refused with 409: it is removed by undoing the import.',
    permit: { all: ['agent:settings:write'], runner: true },
    noETag: true,
    run: (ctx, { agent_id, entry_id }) => forgetRemembered(ctx, agent_id, entry_id),
  }),
  forgetMemorySince: operation({
    method: 'post',
    path: `${MEMORY}/forget`,
    summary: 'Remove all that was remembered since a time',
    details: 'For people only. Entries of imports stay.',
    permit: 'agent:settings:write',
    body: MemoryForget,
    noETag: true,
    run: forgetSince,
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
