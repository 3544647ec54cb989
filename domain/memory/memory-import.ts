import type { Recorded } from '../event.ts';
import { conflict, notFound } from '../refusal.ts';

export const category = 'memoryimport';

export const FORMATS = ['text', 'jsonl', 'json', 'zip'] as const;
export const IMPORT_STATUSES = ['running', 'done', 'failed'] as const;
export type Format = (typeof FORMATS)[number];

/** `source`: the origin that people see; `entries`: their number in the file. */
export type MemoryFile = {
  readonly sha256: string;
  readonly size_bytes: number;
  readonly format: Format;
  readonly source: string;
  readonly entries: number;
};

/** Consecutive entries that are stored together as one content; `entries` is their number. */
export type Segment = { readonly sha256: string; readonly entries: number };

export type MemoryImportEvent =
  | { type: 'MemoryImportStarted'; data: MemoryFile & { readonly agent_id: string } }
  | { type: 'MemoryImportAdvanced'; data: { readonly agent_id: string; readonly done: number } }
  | { type: 'MemoryImported'; data: { readonly agent_id: string; readonly entries: number; readonly segments: readonly Segment[] } }
  | { type: 'MemoryImportFailed'; data: { readonly agent_id: string; readonly error: string } }
  | { type: 'MemoryImportUndone'; data: { readonly agent_id: string } };

/** `done`: entries stored so far; `entries`: all. */
export type MemoryImport = MemoryFile & {
  readonly status: 'absent' | 'undone' | (typeof IMPORT_STATUSES)[number];
  readonly id: string;
  readonly agent_id: string;
  readonly done: number;
  readonly error: string | null;
  readonly created_at: string;
  readonly finished_at: string | null;
};

export const initial: MemoryImport = {
  status: 'absent',
  id: '',
  agent_id: '',
  sha256: '',
  size_bytes: 0,
  format: 'text',
  source: '',
  entries: 0,
  done: 0,
  error: null,
  created_at: '',
  finished_at: null,
};

export const evolve = (memory: MemoryImport, { type, data, id, at }: Recorded<MemoryImportEvent>): MemoryImport => {
  switch (type) {
    case 'MemoryImportStarted':
      return { ...memory, ...data, status: 'running', id, created_at: at };
    case 'MemoryImportAdvanced':
      return { ...memory, done: data.done };
    case 'MemoryImported':
      return { ...memory, status: 'done', done: data.entries, finished_at: at };
    case 'MemoryImportFailed':
      return { ...memory, status: 'failed', error: data.error, finished_at: at };
    case 'MemoryImportUndone':
      return { ...memory, status: 'undone', finished_at: at };
  }
};

export const start =
  (agent_id: string, { sha256, size_bytes, format, source, entries }: MemoryFile) =>
  (memory: MemoryImport): MemoryImportEvent[] => {
    if (memory.status !== 'absent') return [];
    return [{ type: 'MemoryImportStarted', data: { agent_id, sha256, size_bytes, format, source, entries } }];
  };

/** Does nothing if the import is not running, or if the recorded number is not smaller than `done`. */
export const advance =
  (done: number) =>
  ({ status, agent_id, done: before }: MemoryImport): MemoryImportEvent[] =>
    status === 'running' && done > before ? [{ type: 'MemoryImportAdvanced', data: { agent_id, done } }] : [];

/** All entries become part of the memory at the same moment. Does nothing unless the import is running. */
export const finish =
  (segments: readonly Segment[]) =>
  ({ status, agent_id }: MemoryImport): MemoryImportEvent[] => {
    if (status !== 'running') return [];
    const entries = segments.reduce((sum, segment) => sum + segment.entries, 0);
    return [{ type: 'MemoryImported', data: { agent_id, entries, segments } }];
  };

/** None of its entries becomes part of the memory. Does nothing unless the import is running. */
export const fail =
  (error: string) =>
  ({ status, agent_id }: MemoryImport): MemoryImportEvent[] =>
    status === 'running' ? [{ type: 'MemoryImportFailed', data: { agent_id, error } }] : [];

/** Removes all entries of the import from the memory; ends a running import. @throws Refusal not_found, also if it was already undone */
export const undo =
  (agent_id: string) =>
  (memory: MemoryImport): MemoryImportEvent[] => {
    if (memory.status === 'absent' || memory.status === 'undone' || memory.agent_id !== agent_id) throw notFound();
    return [{ type: 'MemoryImportUndone', data: { agent_id } }];
  };

/** Does nothing if it is already canceled. @throws Refusal not_found if it does not exist, conflict if it has ended */
export const cancel = (memory: MemoryImport): MemoryImportEvent[] => {
  if (memory.status === 'absent') throw notFound();
  if (memory.status === 'undone') return [];
  if (memory.status === 'running') return [{ type: 'MemoryImportUndone', data: { agent_id: memory.agent_id } }];
  throw conflict('/path/id', 'job_finished', 'The job has finished: there is nothing to cancel');
};
