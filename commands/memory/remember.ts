import { z } from 'zod';
import { displayText, InstantText, instantOf, text } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as AgentMemory from '../../domain/memory/agent-memory.ts';
import { indexOfEntry } from '../../domain/memory/entry-id.ts';
import { rangesOf } from '../../domain/memory/kept-runs.ts';
import { MAX_PART_LENGTH, MAX_SOURCE_LENGTH, type NewEntry } from '../../domain/memory/memory-entry.ts';
import { invalid, type Refusal } from '../../domain/refusal.ts';
import * as Session from '../../domain/sessions/session.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { newestState } from '../newest-state.ts';
import { redactText } from '../redaction/redaction-patterns.ts';
import { storeEntry } from './memory-segment.ts';

const SALT_LENGTH = 22;
/** The memory has no ETag, and exists before its first event: `If-Match: *` always matches. */
const NO_ETAG = { ignoreExpectedRevision: true };
/** The source of an entry for which none was given. */
const DEFAULT_SOURCE = 'remembered';

export const MemoryRemember = z
  .strictObject({
    text: text(1, MAX_PART_LENGTH)
      .refine((value) => value.trim() !== '', 'must contain a visible character')
      .meta({ description: 'The text', examples: ['Ada prefers short release notes.'] }),
    source: displayText(1, MAX_SOURCE_LENGTH)
      .nullable()
      .default(null)
      .meta({ description: 'Where the text is from, as people should see it', examples: ['pull request 42'] }),
    session_id: idOf('session', 'The session of the agent in which it learned this; null if there is none').nullable().default(null),
  })
  .meta({ id: 'MemoryRemember', examples: [{ text: 'Ada prefers short release notes.', source: 'pull request 42' }] });

export const MemoryForget = z
  .strictObject({
    since: InstantText.meta({
      description: 'Remembered entries with this `created_at` or a later one are removed',
      examples: ['2026-11-21T10:00:00Z'],
    }),
  })
  .meta({ id: 'MemoryForget' });

export const rememberedView = (
  { id, created_at, session_id, created_by_id, runner_key_id }: Omit<AgentMemory.RememberedEntry, 'sha256'>,
  { text, source }: NewEntry,
) => ({ id, import_id: null, text, source, created_at, origin: 'remembered' as const, session_id, created_by_id, runner_key_id });

/** @throws Refusal invalid if the session does not exist or is of another agent */
const assertSessionOf = async (ctx: Ctx, agent_id: string, session_id: string): Promise<void> => {
  const { state } = await ctx.load(Session, session_id);
  if (state.status !== 'absent' && state.agent_id === agent_id) return;
  throw invalid('/session_id', 'is not a session of this agent: send the id of one, or null', 'unknown_session');
};

/**
 * Returns which limit is reached; null if another entry may be added. The state in memory can be outdated: if it is at the limit, the later
 * events of the log decide.
 * @throws Refusal unavailable
 */
const limitReached = async (ctx: Ctx, agent_id: string, writing: AgentMemory.Writing): Promise<Refusal | null> => {
  const { state } = await ctx.load(AgentMemory, agent_id);
  if (!AgentMemory.limitReached(state, writing)) return null;
  return AgentMemory.limitReached(await newestState(ctx, AgentMemory, agent_id), writing);
};

type Addition = { readonly agent_id: string; readonly session_id: string | null; readonly entry: NewEntry };

/** Stores the text only if no limit is reached: otherwise, a refused runner could fill the file store. @throws Refusal unavailable */
const additionOf = async (ctx: Ctx, { agent_id, session_id, entry }: Addition) => {
  const writing = { key_id: ctx.principal.kind === 'runner' ? ctx.principal.key_id : null, at: ctx.at() };
  const refusal = await limitReached(ctx, agent_id, writing);
  // Thrown only in the decision, which is not made if this request repeats one that has added its entry.
  if (refusal)
    return (): never => {
      throw refusal;
    };
  const salt = ctx.secrets.random(SALT_LENGTH);
  // A repeat does not store the text again: it may have been forgotten, and its file removed.
  const sha256 = await ctx.sideEffect(() => storeEntry(ctx.blobs, entry, salt));
  return AgentMemory.remember({ agent_id, sha256, session_id }, writing);
};

/**
 * Redacts text and source by the tenant's patterns, and stores them in the file store.
 * @throws Refusal not_found, invalid, conflict (memory_full), rate_limited, unavailable
 */
export const remember = async (
  ctx: Ctx,
  { agent_id, text, source, session_id }: Input<typeof MemoryRemember, 'agent_id'>,
): Promise<Loaded<ReturnType<typeof rememberedView>>> => {
  await loadAgent(ctx, agent_id);
  if (session_id !== null) await assertSessionOf(ctx, agent_id, session_id);
  const entry = {
    text: await redactText(ctx, '/text', text),
    source: source === null ? DEFAULT_SOURCE : await redactText(ctx, '/source', source),
  };
  const decide = await additionOf(ctx, { agent_id, session_id, entry });
  const loaded = await ctx.transact(AgentMemory, agent_id, decide, NO_ETAG);
  return { ...loaded, state: rememberedView(loaded.state.last!, entry) };
};

/** @throws Refusal not_found */
export const forgetEntry = (ctx: Ctx, agent_id: string, entry_id: string) =>
  ctx.transact(AgentMemory, agent_id, AgentMemory.forget(entry_id));

/** The maximum time in milliseconds by which an event can be earlier than an event before it in the stream. */
const MAX_DISORDER_MS = 600_000;

/** The revision of the first of `count` events that is not before `at`; `count` if there is none. */
const revisionAt = async (ctx: Ctx, agent_id: string, count: number, at: string): Promise<number> => {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await Array.fromAsync(ctx.log.history(AgentMemory, agent_id, { from: middle, limit: 1 }));
    if (event && event.at < at) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** The indexes of entries written since a time, in ascending order. */
const indexesSince = async (ctx: Ctx, agent_id: string, since: string): Promise<number[]> => {
  const { revision } = await ctx.load(AgentMemory, agent_id);
  const start = new Date(Date.parse(since) - MAX_DISORDER_MS).toISOString();
  const from = await revisionAt(ctx, agent_id, revision + 1, start);
  const indexes: number[] = [];
  for await (const { type, data, at } of ctx.log.history(AgentMemory, agent_id, { from }))
    if (type === 'MemoryRemembered' && at >= since) indexes.push(indexOfEntry(data.entry_id));
  return indexes;
};

/** Removes what was remembered since a time, until now. @throws Refusal not_found, unavailable */
export const forgetSince = async (ctx: Ctx, { agent_id, ...input }: Input<typeof MemoryForget, 'agent_id'>) => {
  await loadAgent(ctx, agent_id);
  const since = instantOf(input.since);
  const ranges = rangesOf(await indexesSince(ctx, agent_id, since));
  for (;;) {
    const loaded = await ctx.transact(AgentMemory, agent_id, AgentMemory.forgetSince(since, ranges), NO_ETAG);
    if (AgentMemory.rememberedIn(loaded.state, ranges).length === 0) return loaded;
  }
};
