import { readSegment } from '../../commands/memory/memory-segment.ts';
import { newestState } from '../../commands/newest-state.ts';
import { entryIdOf, importIdRange, indexOfEntry, isEntryOf } from '../../domain/memory/entry-id.ts';
import type { NewEntry } from '../../domain/memory/memory-entry.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import { type CursorKey, readCursorKey, writeCursor } from '../../projections/cursor.ts';
import { type ImportedFile, importOfEntry, importsOfMemory, MAX_IMPORTS } from '../../projections/memory/memory-import.queries.ts';
import type { Origin } from '../../projections/memory/memory-import.ts';
import { type Page, takeUpToPageSize } from '../../projections/read-model.ts';
import type { Ctx } from '../http/operation.ts';
import { type PageWindow, parseSort } from '../http/paging.ts';
import { containsText, mergeSteps, type Step, type Walk } from './memory-steps.ts';
import { findRemembered, rememberedEntries } from './remembered-entries.ts';

/**
 * One request reads at most this many segments (stored parts of an import). If a search needs more, its page has fewer
 * entries, and the next page continues the search.
 */
const MAX_SEGMENTS = 32;

export type MemoryFilter = {
  readonly agent_id: string;
  readonly q?: string | undefined;
  readonly import_id?: string | undefined;
  readonly origin?: Origin | undefined;
};

const inOrder = <T>(items: readonly T[], descending: boolean): readonly T[] => (descending ? items.toReversed() : items);

/** Returns the segments of an import, each with the index of its first entry. */
const withStarts = ({ segments }: ImportedFile) => {
  let start = 0;
  return segments.map((segment) => {
    start += segment.entries;
    return { ...segment, start: start - segment.entries };
  });
};

/** Returns an entry in the form of the response schema MemoryEntry, as JSON. */
const entryJson = ({ id: import_id, imported_at: created_at }: ImportedFile, index: number, { text, source }: NewEntry): string =>
  JSON.stringify({ id: entryIdOf(import_id, index), import_id, text, source, created_at, origin: 'imported' });

/** Returns null if the import was undone a moment ago. @throws Refusal unavailable, not_configured */
const segmentOf = (ctx: Ctx, { id }: ImportedFile, sha256: string): Promise<readonly NewEntry[] | null> =>
  readSegment(ctx.blobs, sha256, async () => (await newestState(ctx, MemoryImport, id)).status === 'undone');

/**
 * Yields the entries of one import in list order. If `after` is the key of an entry of this import, starts after that
 * entry.
 */
async function* entriesOf(ctx: Ctx, file: ImportedFile, { descending, after, q }: Walk): AsyncGenerator<Step> {
  const { id: import_id, imported_at: created_at } = file;
  const isWithin = after !== null && after[0] === created_at && isEntryOf(import_id, after[1]);
  const last = isWithin ? indexOfEntry(after[1]) : null;
  const isLeft = (index: number): boolean => last === null || (descending ? index < last : index > last);
  for (const { sha256, start, entries } of inOrder(withStarts(file), descending)) {
    if (!isLeft(descending ? start : start + entries - 1)) continue;
    const texts = await segmentOf(ctx, file, sha256);
    if (!texts) return;
    const numbered = inOrder(
      texts.map((entry, n) => ({ ...entry, index: start + n })),
      descending,
    );
    for (const { text, source, index } of numbered) {
      if (!isLeft(index) || !containsText({ text, source }, q)) continue;
      yield { key: [created_at, entryIdOf(import_id, index)], entry: entryJson(file, index, { text, source }) };
    }
    yield { key: [created_at, entryIdOf(import_id, numbered.at(-1)!.index)], entry: null };
  }
}

/**
 * Yields the imports of an agent in list order. Starts with the import that contains the entry with the key `after`.
 */
async function* importsAfter(ctx: Ctx, { agent_id, import_id }: MemoryFilter, { descending, after }: Walk): AsyncGenerator<ImportedFile> {
  const range = after && importIdRange(after[1]);
  let [at, id] = [after?.[0] as string | undefined, descending ? range?.last : range?.first];
  for (let seen = ''; ; ) {
    const files = await importsOfMemory(ctx.reads, { tenant_id: ctx.tenant, agent_id, import_id, at, id, descending });
    for (const file of files) if (file.id !== seen) yield file;
    if (files.length < MAX_IMPORTS) return;
    const { id: lastId, imported_at } = files.at(-1)!;
    [at, id, seen] = [imported_at, lastId, lastId];
  }
}

async function* importedEntries(ctx: Ctx, filter: MemoryFilter, options: Walk): AsyncGenerator<Step> {
  for await (const file of importsAfter(ctx, filter, options)) yield* entriesOf(ctx, file, options);
}

/** Yields the entries of a memory in list order, and a step without an entry after each segment. */
async function* walk(ctx: Ctx, filter: MemoryFilter, options: Walk): AsyncGenerator<Step> {
  const { agent_id, import_id, origin } = filter;
  const imported = origin === 'remembered' ? null : importedEntries(ctx, filter, options);
  const remembered = origin === 'imported' || import_id !== undefined ? null : rememberedEntries(ctx, agent_id, options);
  if (imported && remembered) yield* mergeSteps(imported, remembered, options.descending);
  else yield* imported ?? remembered ?? [];
}

/**
 * Returns a page of the entries in the memory of an agent, newest first or in the order `sort`. With `q`, only entries
 * whose text or source contains this text, in upper or lower case. `count` is the number of entries of the page.
 * @throws Refusal invalid, unavailable, not_configured
 */
export const memoryPage = async (
  ctx: Ctx,
  filter: MemoryFilter,
  { limit, cursor, sort }: PageWindow,
): Promise<Page & { readonly count: number }> => {
  const order = parseSort(sort, ['created_at']);
  const { descending } = order;
  const options = { descending, after: readCursorKey(cursor, 'timestamptz', order), q: filter.q?.toLowerCase(), limit };
  const found: { key: CursorKey; entry: string }[] = [];
  let segments = 0;
  let next: CursorKey | null = null;
  for await (const { key, entry } of walk(ctx, filter, options)) {
    if (entry !== null) found.push({ key, entry });
    else if (++segments === MAX_SEGMENTS) next = key;
    if (found.length > limit || next) break;
  }
  const taken = takeUpToPageSize(found.slice(0, limit).map(({ entry }) => entry));
  if (taken.length < found.length) next = found[taken.length - 1]!.key;
  return { body: `[${taken.join(',\n')}]`, next: next && writeCursor(next, order), count: taken.length };
};

export const importOf = async (ctx: Ctx, agent_id: string, entry_id: string): Promise<ImportedFile | null> => {
  const file = await importOfEntry(ctx.reads, { tenant_id: ctx.tenant, agent_id, ...importIdRange(entry_id) });
  const entries = (file?.segments ?? []).reduce((sum, segment) => sum + segment.entries, 0);
  return indexOfEntry(entry_id) < entries ? file : null;
};

/**
 * Returns one entry in the memory of an agent as JSON; null if there is none with this id.
 * @throws Refusal unavailable, not_configured
 */
export const findMemoryEntry = async (ctx: Ctx, agent_id: string, entry_id: string): Promise<string | null> => {
  if (isEntryOf(agent_id, entry_id)) return findRemembered(ctx, agent_id, entry_id);
  const file = await importOf(ctx, agent_id, entry_id);
  const index = indexOfEntry(entry_id);
  const segment = file && withStarts(file).find(({ start, entries }) => start <= index && index < start + entries);
  if (!segment) return null;
  const texts = await segmentOf(ctx, file, segment.sha256);
  return texts && entryJson(file, index, texts[index - segment.start]!);
};
