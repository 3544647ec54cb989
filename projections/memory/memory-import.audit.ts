import type { MemoryImportEvent } from '../../domain/memory/memory-import.ts';
import type { AuditOf } from '../audit-record.ts';

export const memoryImportAudit = {
  MemoryImportStarted: { summary: 'started to import {source} into the memory of the agent {agent}', activity: 'create' },
  MemoryImportAdvanced: { summary: 'stored {done} entries for the memory of the agent {agent}', activity: 'update' },
  MemoryImported: { summary: 'imported {entries} entries into the memory of the agent {agent}', activity: 'create' },
  MemoryImportFailed: { summary: 'could not import a file into the memory of the agent {agent}: {error}', activity: 'update' },
  MemoryImportUndone: { summary: 'undid an import into the memory of the agent {agent}', activity: 'delete' },
} satisfies AuditOf<MemoryImportEvent>;
