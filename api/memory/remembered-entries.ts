import { readSegment } from '../../commands/memory/memory-segment.ts';
import { rememberedView } from '../../commands/memory/remember.ts';
import { newestState } from '../../commands/newest-state.ts';
import * as AgentMemory from '../../domain/memory/agent-memory.ts';
import { indexOfEntry } from '../../domain/memory/entry-id.ts';
import { MAX_REMEMBERED_ROWS, rememberedAfter, rememberedEntry } from '../../projections/memory/remembered-entry.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { containsText, type Step, type Walk } from './memory-steps.ts';

/** Returns an entry with its text; null if it was removed a moment ago. @throws Refusal unavailable, not_configured */
const readEntry = async (ctx: Ctx, agent_id: string, entry: AgentMemory.RememberedEntry) => {
  const index = indexOfEntry(entry.id);
  const isRemoved = async (): Promise<boolean> =>
    AgentMemory.rememberedIn(await newestState(ctx, AgentMemory, agent_id), [{ first: index, last: index }]).length === 0;
  const texts = await readSegment(ctx.blobs, entry.sha256, isRemoved);
  return texts && rememberedView(entry, texts[0]!);
};

/** Yields the entries that an agent remembers in list order, and a step without an entry after each group of texts. */
export async function* rememberedEntries(ctx: Ctx, agent_id: string, { descending, after, q, limit }: Walk): AsyncGenerator<Step> {
  let [at, id] = [after?.[0] as string | undefined, after?.[1]];
  for (;;) {
    const found = await rememberedAfter(ctx.reads, { tenant_id: ctx.tenant, agent_id, at, id, descending });
    // Each row costs a read of a file. One entry more than the limit proves that there is a next page.
    const rows = q === undefined ? found.slice(0, limit + 1) : found;
    for (const entry of await Promise.all(rows.map((row) => readEntry(ctx, agent_id, row))))
      if (entry && containsText(entry, q)) yield { key: [entry.created_at, entry.id], entry: JSON.stringify(entry) };
    if (rows.length === 0) return;
    [at, id] = [rows.at(-1)!.created_at, rows.at(-1)!.id];
    yield { key: [at, id], entry: null };
    if (rows.length === found.length && found.length < MAX_REMEMBERED_ROWS) return;
  }
}

/** Returns an entry that an agent remembers as JSON; null if there is none with this id. @throws Refusal unavailable */
export const findRemembered = async (ctx: Ctx, agent_id: string, id: string): Promise<string | null> => {
  const found = await rememberedEntry(ctx.reads, { tenant_id: ctx.tenant, agent_id, id });
  const entry = found && (await readEntry(ctx, agent_id, found));
  return entry && JSON.stringify(entry);
};
