import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import { insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';
import { Job } from '../webhooks/replay-job.ts';

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

export const MemoryEntry = z
  .object({
    id: idOf('memory entry'),
    import_id: idOf('memory import').nullable().meta({ description: 'The import that has added the entry' }),
    text: z.string().meta({ description: 'The text', examples: ['The release branch is cut every second Tuesday.'] }),
    source: z.string().meta({ description: 'The file from which the text is; in an archive, its path', examples: ['handbook.md'] }),
    created_at: Timestamp.meta({ description: 'When the import was finished' }),
  })
  .meta({ id: 'MemoryEntry' });

const Segments = z.object({ segments: z.array(z.object({ sha256: z.string(), entries: z.int() })) });

/**
 * `sha256`, `source` and `format` describe the imported file; after the import was undone, `sha256` is null.
 * `imported_at` is null unless the entries are in the memory of the agent. `running_since` is null unless the import is
 * running.
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
  },
  docs: { job: Job, segments: Segments },
  indexes: [
    { columns: ['tenant_id', 'agent_id', 'imported_at', 'id'], withoutNull: 'imported_at' },
    { columns: ['running_since', 'id'], withoutNull: 'running_since' },
    { columns: ['tenant_id', 'sha256', 'agent_id'], withoutNull: 'sha256' },
  ],
} as const satisfies Table;

/** The imports into the memories of agents. The texts are only in the file store. */
export const memoryImports = {
  name: 'memory',
  version: 3,
  categories: [MemoryImport.category],
  tables: [table],
  on: {
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
        ...{ created_at: at, finished_at: null, running_since: at, imported_at: null, segments: [] },
      }),
    MemoryImportAdvanced: ({ id, tenant: tenant_id, data: { done } }) => patch('imports', { tenant_id, id }, { done }),
    MemoryImported: ({ id, tenant: tenant_id, at, data: { entries, segments } }) =>
      patch(
        'imports',
        { tenant_id, id },
        { status: 'done', done: entries, segments, running_since: null, imported_at: at, finished_at: at },
      ),
    MemoryImportFailed: ({ id, tenant: tenant_id, at, data: { error } }) =>
      patch('imports', { tenant_id, id }, { status: 'failed', error, running_since: null, finished_at: at }),
    MemoryImportUndone: ({ id, tenant: tenant_id, at }) =>
      patch(
        'imports',
        { tenant_id, id },
        { status: 'cancelled', segments: [], sha256: null, running_since: null, imported_at: null, finished_at: at },
      ),
  },
} as const satisfies Projection<MemoryImport.MemoryImportEvent>;
