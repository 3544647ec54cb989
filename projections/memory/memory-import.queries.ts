import type { Format, Segment } from '../../domain/memory/memory-import.ts';
import { MAX_AGENTS_OF_FILE } from '../file-selection.ts';
import { defineQuery } from '../query.ts';
import type { Doc, Reads } from '../read-model.ts';

/** The maximum number of imports that `importsOfMemory` returns. */
export const MAX_IMPORTS = 20;

/**
 * The place at which a query starts: at the import with this time and id. If both are undefined, it starts at the first
 * or last import.
 */
type Boundary = { readonly at: string | undefined; readonly id: string | undefined };
type Selected = Boundary & { readonly tenant_id: string; readonly agent_id: string; readonly import_id?: string | undefined };

const importsFrom = (operator: '<=' | '>=', direction: 'desc' | 'asc') =>
  defineQuery((db, { tenant_id, agent_id, import_id, at, id }: Selected) =>
    db
      .selectFrom('memory.imports as import')
      .select(['import.id', 'import.imported_at', 'import.segments'])
      .where('import.tenant_id', '=', tenant_id)
      .where('import.agent_id', '=', agent_id)
      .where('import.imported_at', 'is not', null)
      .$if(import_id !== undefined, (query) => query.where('import.id', '=', import_id!))
      .$if(at !== undefined, (query) =>
        query.where(({ eb, refTuple, tuple }) => eb(refTuple('import.imported_at', 'import.id'), operator, tuple(at!, id!))),
      )
      .orderBy('import.imported_at', direction)
      .orderBy('import.id', direction)
      .limit(({ lit }) => lit(MAX_IMPORTS)),
  );
const newestFirst = importsFrom('<=', 'desc');
const oldestFirst = importsFrom('>=', 'asc');

/** An import whose entries are in the memory of the agent. Its segments contain the entries in their order. */
export type ImportedFile = { readonly id: string; readonly imported_at: string; readonly segments: readonly Segment[] };

type ImportRow = { readonly id: string | null; readonly imported_at: string | null; readonly segments: string | null };

const importedFile = ({ id, imported_at, segments }: ImportRow): ImportedFile => ({
  id: id!,
  imported_at: imported_at!,
  segments: (JSON.parse(segments!) as { segments: Segment[] }).segments,
});

/**
 * Returns the imports whose entries are in the memory of an agent, ordered by time and id, ascending or descending.
 * With `at` and `id`, starts at the import with this time and id.
 */
export const importsOfMemory = async (
  reads: Reads,
  { descending, ...selected }: Selected & { readonly descending: boolean },
): Promise<ImportedFile[]> => {
  const rows = await reads.rows(descending ? newestFirst : oldestFirst, selected);
  return rows.map(importedFile);
};

type Range = { readonly tenant_id: string; readonly agent_id: string; readonly first: string; readonly last: string };

const inRange = defineQuery((db, { tenant_id, agent_id, first, last }: Range) =>
  db
    .selectFrom('memory.imports as import')
    .select(['import.id', 'import.imported_at', 'import.segments'])
    .where('import.tenant_id', '=', tenant_id)
    .where('import.id', '>=', first)
    .where('import.id', '<=', last)
    .where('import.agent_id', '=', agent_id)
    .where('import.imported_at', 'is not', null),
);

/**
 * Returns the import with an id between `first` and `last`, if its entries are in the memory of the agent; otherwise
 * null. The range is that of an entry (see `importIdRange`).
 */
export const importOfEntry = async (reads: Reads, range: Range): Promise<ImportedFile | null> =>
  (await reads.rows(inRange, range)).map(importedFile)[0] ?? null;

type AgentRef = { readonly tenant_id: string; readonly agent_id: string };

const summary = defineQuery((db, { tenant_id, agent_id }: AgentRef) =>
  db
    .selectFrom('memory.changes as memory')
    .select(({ selectFrom }) => [
      'memory.changes',
      'memory.remembered',
      selectFrom('memory.imports as import')
        .select(({ fn, cast, lit }) => cast<number>(fn.coalesce(fn.sum('import.entries'), lit(0)), 'integer').as('entries'))
        .where('import.tenant_id', '=', tenant_id)
        .where('import.agent_id', '=', agent_id)
        .where('import.imported_at', 'is not', null)
        .as('entries'),
    ])
    .where('memory.tenant_id', '=', tenant_id)
    .where('memory.agent_id', '=', agent_id),
);

/** Returns how many entries the memory of an agent has, and how often it has changed. @throws Refusal unavailable */
export const memorySummary = async (reads: Reads, agent: AgentRef): Promise<{ entries: number; changes: number }> => {
  const [found] = await reads.rows(summary, agent);
  return { entries: (found?.entries ?? 0) + Number(found?.remembered ?? 0), changes: Number(found?.changes ?? 0) };
};

const jobQuery = defineQuery((db, { tenant_id, id }: { tenant_id: string; id: string }) =>
  db
    .selectFrom('memory.imports as import')
    .select(['import.agent_id', 'import.job', 'import.revision'])
    .where('import.tenant_id', '=', tenant_id)
    .where('import.id', '=', id),
);

/** Returns the agent of an import, and the import in the form of a job; null if there is no such import. */
export const importJob = async (reads: Reads, tenant_id: string, id: string): Promise<{ agent_id: string; job: Doc } | null> => {
  const [found] = await reads.rows(jobQuery, { tenant_id, id });
  return found ? { agent_id: found.agent_id!, job: { doc: found.job, revision: found.revision } } : null;
};

/** The maximum number of imports that `runningImports` returns. */
const MAX_RUNNING = 20;

const running = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('memory.imports as import')
    .select(['import.tenant_id', 'import.id'])
    .where('import.running_since', '<=', at)
    .orderBy('import.running_since')
    .orderBy('import.id')
    .limit(({ lit }) => lit(MAX_RUNNING)),
);

/** Returns the imports that are running at the time `at`, the oldest first. */
export const runningImports = (reads: Pick<Reads, 'rows'>, at: string): Promise<{ tenant_id: string; id: string }[]> =>
  reads.rows(running, { at });

const filesByDigest = defineQuery((db, { tenant_id, sha256 }: { tenant_id: string; sha256: string }) =>
  db
    .selectFrom('memory.imports as import')
    .distinctOn('import.agent_id')
    .select(['import.agent_id', 'import.source', 'import.format'])
    .where('import.tenant_id', '=', tenant_id)
    .where('import.sha256', '=', sha256)
    .orderBy('import.agent_id')
    .limit(({ lit }) => lit(MAX_AGENTS_OF_FILE)),
);

/** Returns the files with this digest that were imported into memories of a tenant, one per agent. */
export const memoryFilesWithDigest = async (reads: Reads, tenant_id: string, sha256: string) =>
  (await reads.rows(filesByDigest, { tenant_id, sha256 })).map(({ agent_id, source, format }) => ({
    ...{ agent_id: agent_id!, source: source!, format: format as Format },
  }));
