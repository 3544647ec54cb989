import fc from 'fast-check';
import * as AgentMemory from '../../domain/memory/agent-memory.ts';
import { entryIdOf } from '../../domain/memory/entry-id.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import * as jobs from '../../projections/deliveries/replay-job.queries.ts';
import * as memory from '../../projections/memory/memory-import.queries.ts';
import * as remembered from '../../projections/memory/remembered-entry.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, MIDDLE_TIME, newest, ROW, single, TENANT } from '../fixtures/query-case.ts';
import { NOW, repeated } from '../fixtures/repeated-decisions.ts';

const of = { tenant_id: TENANT, agent_id: AGENT, at: undefined, id: undefined };
const after = { ...of, at: MIDDLE_TIME, id: ROW };

const queries: AreaCases['queries'] = {
  importsOfMemory: {
    newest: { rows: 'page', run: (reads) => memory.importsOfMemory(reads, { ...of, descending: true }) },
    next: { rows: 'page', run: (reads) => memory.importsOfMemory(reads, { ...after, descending: true }) },
    oldest: { rows: 'page', run: (reads) => memory.importsOfMemory(reads, { ...of, descending: false }) },
    'after the oldest': { rows: 'page', run: (reads) => memory.importsOfMemory(reads, { ...after, descending: false }) },
    'of one import': { rows: 'page', run: (reads) => memory.importsOfMemory(reads, { ...of, import_id: ROW, descending: true }) },
  },
  importOfEntry: single((reads) => memory.importOfEntry(reads, { tenant_id: TENANT, agent_id: AGENT, first: ROW, last: ROW })),
  memorySummary: { call: { rows: 'tenant', run: (reads) => memory.memorySummary(reads, { tenant_id: TENANT, agent_id: AGENT }) } },
  memoryFilesWithDigest: { call: { rows: 'tenant', run: (reads) => memory.memoryFilesWithDigest(reads, TENANT, 'text 7') } },
  rememberedAfter: {
    newest: { rows: 'page', run: (reads) => remembered.rememberedAfter(reads, { ...of, descending: true }) },
    next: { rows: 'page', run: (reads) => remembered.rememberedAfter(reads, { ...after, descending: true }) },
    oldest: { rows: 'page', run: (reads) => remembered.rememberedAfter(reads, { ...of, descending: false }) },
    'after the oldest': { rows: 'page', run: (reads) => remembered.rememberedAfter(reads, { ...after, descending: false }) },
  },
  rememberedEntry: single((reads) => remembered.rememberedEntry(reads, { tenant_id: TENANT, agent_id: AGENT, id: ROW })),
  importJob: single((reads) => memory.importJob(reads, TENANT, ROW)),
  jobPage: {
    'of a tenant': { rows: 'page', run: (reads) => jobs.jobPage(reads, { tenant_id: TENANT }, newest) },
    'with every filter': {
      rows: 'tenant',
      run: (reads) => jobs.jobPage(reads, { tenant_id: TENANT, kind: 'text 0', status: 'text 0', agent_ids: [AGENT] }, newest),
    },
  },
  runningImports: single((reads) => memory.runningImports(reads, MIDDLE_TIME)),
};

const file = { sha256: '1'.repeat(64), size_bytes: 1, format: 'text', source: 'a.txt', entries: 3 } as const;

const writing = { key_id: null, at: NOW };
const OWNER = 'c'.padEnd(25, 'a');
const remember = (n: number) => AgentMemory.remember({ agent_id: OWNER, sha256: String(n), session_id: null }, writing);

const decisions: AreaCases['decisions'] = [
  repeated(AgentMemory, [], {
    'memory/agent-memory.ts remember': fc.constantFrom(1, 2, 3).map(remember),
    'memory/agent-memory.ts forget': fc.constantFrom(0, 1, 2).map((index) => AgentMemory.forget(entryIdOf(OWNER, index))),
    'memory/agent-memory.ts forgetSince': fc.constantFrom(0, 1, 2).map((first) => AgentMemory.forgetSince(NOW, [{ first, last: 3 }])),
  }),
  repeated(MemoryImport, [], {
    'memory/memory-import.ts start': fc.constant(MemoryImport.start('a', file)),
    'memory/memory-import.ts advance': fc.constantFrom(1, 2, 3).map(MemoryImport.advance),
    'memory/memory-import.ts finish': fc.constant(MemoryImport.finish([{ sha256: '2'.repeat(64), entries: 3 }])),
    'memory/memory-import.ts fail': fc.constant(MemoryImport.fail('why')),
    'memory/memory-import.ts undo': fc.constantFrom('a', 'b').map(MemoryImport.undo),
    'memory/memory-import.ts cancel': fc.constant(MemoryImport.cancel),
  }),
];

export const cases: AreaCases = { queries, decisions };
