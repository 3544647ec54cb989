import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as AgentMemory from '../../domain/memory/agent-memory.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import { Job } from '../deliveries/replay-job.ts';
import { insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';
import { changed, changeTable, onRemembered, rememberedTable } from './remembered-entry.ts';

export const MemoryImportRead = z
  .object({
    id: idOf('memory import').meta({ description: 'The id of the import. It is also that of its job' }),
    status: z.enum(MemoryImport.IMPORT_STATUSES).meta({ description: '`running` until all entries are stored; then they appear at once' }),
    entries: z.int().meta({ description: 'How many entries were stored so far', examples: [120] }),
    error: z
      .string()
      .nullable()
      .meta({ description: 'Why the import failed', examples: [null] }),
    created_at: Timestamp,
  })
  .meta({ id: 'MemoryImportRead' });

/** Where an entry of a memory is from: a file, or what the agent (or a person for it) has written. */
export const ORIGINS = ['imported', 'remembered'] as const;
export type Origin = (typeof ORIGINS)[number];

export const MemoryEntry = z
  .object({
    id: idOf('memory entry'),
    import_id: idOf('memory import').nullable().meta({ description: 'The import that has added the entry; null if it is remembered' }),
    text: z.string().meta({ description: 'The text', examples: ['The release branch is cut every second Tuesday.'] }),
    source: z.string().meta({
      description: 'The file from which the text is; in an archive, its path. For a remembered entry, the source that its writer stated',
      examples: ['handbook.md'],
    }),
    created_at: Timestamp.meta({ description: 'When the import was finished, or the entry remembered' }),
    origin: z
      .enum(ORIGINS)
      .optional()
      .meta({ description: '`imported` from a file, or `remembered`: written by the agent itself or by a person' }),
    session_id: idOf('session').nullable().optional().meta({ description: 'The session in which the entry was remembered' }),
    created_by_id: idOf('user').nullable().optional().meta({ description: 'The user who wrote a remembered entry; null if the agent did' }),
    runner_key_id: idOf('API key').nullable().optional().meta({ description: 'The runner key with which the agent wrote the entry' }),
  })
  .meta({ id: 'MemoryEntry' });

const Segments = z.object({ segments: z.array(z.object({ sha256: z.string(), entries: z.int() })) });

/**
 * `sha256`, `source` and `format` describe the imported file; after the import was undone, `sha256` is null.
 * `imported_at` is null unless the entries are in the memory of the agent. `running_since` is null unless the import is
 * running. `entries` is the number of entries that the import has added to the memory.
 */
export const table = {
  name: 'imports',
  key: ['tenant_id', 'id'],
  stream: MemoryImport.category,
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    sha256: 'text',
    source: 'text',
    format: 'text',
    imported_at: 'timestamptz',
    running_since: 'timestamptz',
    entries: 'integer',
  },
  docs: { job: Job, segments: Segments },
  indexes: [
    { columns: ['tenant_id', 'agent_id', 'imported_at', 'id'], withoutNull: 'imported_at' },
    { columns: ['running_since', 'id'], withoutNull: 'running_since' },
    { columns: ['tenant_id', 'sha256', 'agent_id'], withoutNull: 'sha256' },
  ],
} as const satisfies Table;

/** The memories of agents: imports, and what the agents remember. The texts are only in the file store. */
export const memoryImports = {
  name: 'memory',
  version: 5,
  categories: [MemoryImport.category, AgentMemory.category],
  tables: [table, rememberedTable, changeTable],
  on: {
    ...onRemembered,
    MemoryImportStarted: ({ id, tenant: tenant_id, at, data: { agent_id, entries, sha256, source, format } }) =>
      insert('imports', {
        ...{
          id,
          tenant_id,
          agent_id,
          sha256,
          source,
          format,
          kind: 'memory_import',
          status: 'running',
          done: 0,
          total: entries,
          error: null,
          target_agent_id: null,
          per_second: null,
        },
        ...{ created_at: at, finished_at: null, running_since: at, imported_at: null, entries: 0, segments: [] },
      }),
    MemoryImportAdvanced: ({ id, tenant: tenant_id, data: { done } }) => patch('imports', { tenant_id, id }, { done }),
    MemoryImported: ({ id, tenant: tenant_id, at, data: { agent_id, entries, segments } }) => [
      patch(
        'imports',
        { tenant_id, id },
        { status: 'done', done: entries, entries, segments, running_since: null, imported_at: at, finished_at: at },
      ),
      changed(tenant_id, agent_id),
    ],
    MemoryImportFailed: ({ id, tenant: tenant_id, at, data: { error } }) =>
      patch('imports', { tenant_id, id }, { status: 'failed', error, running_since: null, finished_at: at }),
    MemoryImportUndone: ({ id, tenant: tenant_id, at, data: { agent_id } }) => [
      patch(
        'imports',
        { tenant_id, id },
        { status: 'cancelled', segments: [], sha256: null, entries: 0, running_since: null, imported_at: null, finished_at: at },
      ),
      changed(tenant_id, agent_id),
    ],
  },
} as const satisfies Projection<MemoryImport.MemoryImportEvent | AgentMemory.AgentMemoryEvent>;
