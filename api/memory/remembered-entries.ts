import { readSegment } from '../../commands/memory/memory-segment.ts';
import { rememberedView } from '../../commands/memory/remember.ts';
import type { RememberedEntry } from '../../domain/memory/agent-memory.ts';
import { MAX_REMEMBERED_ROWS, rememberedAfter, rememberedEntry } from '../../projections/memory/remembered-entry.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { hasWords, type Step, type Walk } from './memory-steps.ts';

const readEntry = async (ctx: Ctx, entry: RememberedEntry) => rememberedView(entry, (await readSegment(ctx.blobs, entry.sha256))[0]!);

/** Yields the entries that an agent remembers in list order, and a step without an entry after each group of texts. */
export async function* rememberedEntries(ctx: Ctx, agent_id: string, { descending, after, q }: Walk): AsyncGenerator<Step> {
  let [at, id] = [after?.[0] as string | undefined, after?.[1]];
  for (;;) {
    const rows = await rememberedAfter(ctx.reads, { tenant_id: ctx.tenant, agent_id, at, id, descending });
    for (const entry of await Promise.all(rows.map((row) => readEntry(ctx, row))))
      if (hasWords(entry, q)) yield { key: [entry.created_at, entry.id], entry: JSON.stringify(entry) };
    if (rows.length === 0) return;
    [at, id] = [rows.at(-1)!.created_at, rows.at(-1)!.id];
    yield { key: [at, id], entry: null };
    if (rows.length < MAX_REMEMBERED_ROWS) return;
  }
}

/** Returns an entry that an agent remembers as JSON; null if there is none with this id. @throws Refusal unavailable */
export const findRemembered = async (ctx: Ctx, agent_id: string, id: string): Promise<string | null> => {
  const found = await rememberedEntry(ctx.reads, { tenant_id: ctx.tenant, agent_id, id });
  return found && JSON.stringify(await readEntry(ctx, found));
};
