import type { Recorded } from '../event.ts';
import { conflict, notFound, Refusal } from '../refusal.ts';
import { entryIdOf, indexOfEntry, isEntryOf } from './entry-id.ts';
import { appended, countOf, dropped, groupsOf, type IndexRange, intersection, type KeptRuns, keptRanges, lengthOf } from './kept-runs.ts';

/** What an agent remembers besides the imports. The stream has the id of the agent. */
export const category = 'agentmemory';

/** The maximum number of entries of an agent, without those of imports. */
export const MAX_REMEMBERED = 100_000;
/** The maximum number of entries that one runner key adds in a day (UTC). */
export const MAX_REMEMBERED_A_DAY = 1_000;
/** The maximum number of entries that one event forgets. */
const MAX_FORGOTTEN = 1_000;
/** The maximum number of ranges that one decision forgets: the size of an append is limited. */
const MAX_FORGOTTEN_RANGES = 2_000;

/** `sha256` of the stored text and source. */
export type RememberedFields = { readonly agent_id: string; readonly sha256: string; readonly session_id: string | null };

/** Entries that were remembered one after another, both ends included. */
export type EntryRange = { readonly first: string; readonly last: string };

export type AgentMemoryEvent =
  | { type: 'MemoryRemembered'; data: RememberedFields & { readonly entry_id: string } }
  /** `since` is null if a single entry was forgotten. */
  | {
      type: 'MemoryForgotten';
      data: { readonly agent_id: string; readonly entries: number; readonly ranges: readonly EntryRange[]; readonly since: string | null };
    };

/** Either `created_by_id` (a user) or `runner_key_id` is set. */
export type RememberedEntry = {
  readonly id: string;
  readonly sha256: string;
  readonly session_id: string | null;
  readonly created_by_id: string | null;
  readonly runner_key_id: string | null;
  readonly created_at: string;
};

/** `runs` says which entries there are, by index: the number of entries written before. `written_by_key` counts those of the day `day`. */
export type AgentMemory = {
  readonly agent_id: string;
  readonly entries: number;
  readonly runs: KeptRuns;
  readonly day: string;
  readonly written_by_key: Readonly<Record<string, number>>;
  readonly last: RememberedEntry | null;
};

export const initial: AgentMemory = { agent_id: '', entries: 0, runs: [], day: '', written_by_key: {}, last: null };

/** An agent can write a thousand events a day. */
export const snapshots = { version: 1, interval: 128 };

const DAY_LENGTH = 'YYYY-MM-DD'.length;

/** Returns how many entries the runner key has written on the day (UTC) of the time `at`. */
const writtenOn = ({ day, written_by_key }: AgentMemory, key_id: string, at: string): number =>
  at.slice(0, DAY_LENGTH) > day ? 0 : (written_by_key[key_id] ?? 0);

export const entryOf = ({ data, at, actor }: Pick<Recorded<AgentMemoryEvent & { type: 'MemoryRemembered' }>, 'data' | 'at' | 'actor'>) => ({
  ...{ id: data.entry_id, sha256: data.sha256, session_id: data.session_id, created_at: at },
  created_by_id: actor.kind === 'user' ? actor.id : null,
  runner_key_id: actor.kind === 'agent' ? (actor.key_id ?? null) : null,
});

const withEntry = (memory: AgentMemory, last: RememberedEntry, agent_id: string): AgentMemory => {
  const { runner_key_id: key, created_at: at } = last;
  const isNewDay = at.slice(0, DAY_LENGTH) > memory.day;
  const counts = isNewDay ? {} : memory.written_by_key;
  return {
    ...{ agent_id, last, entries: memory.entries + 1, runs: appended(memory.runs) },
    day: isNewDay ? at.slice(0, DAY_LENGTH) : memory.day,
    written_by_key: key === null ? counts : { ...counts, [key]: writtenOn(memory, key, at) + 1 },
  };
};

const indexesOf = ({ first, last }: EntryRange): IndexRange => ({ first: indexOfEntry(first), last: indexOfEntry(last) });

export const evolve = (memory: AgentMemory, event: Recorded<AgentMemoryEvent>): AgentMemory => {
  switch (event.type) {
    case 'MemoryRemembered':
      return withEntry(memory, entryOf(event), event.data.agent_id);
    case 'MemoryForgotten': {
      const { entries, ranges } = event.data;
      return { ...memory, entries: memory.entries - entries, runs: dropped(memory.runs, ranges.map(indexesOf)) };
    }
  }
};

const DAY_MS = 86_400_000;

const dayIsFull = (at: string): Refusal => {
  const resets_at = new Date(Date.parse(at.slice(0, DAY_LENGTH)) + DAY_MS).toISOString();
  const detail = `This runner key has added ${MAX_REMEMBERED_A_DAY} entries to the memory today, which is the maximum: try again after ${resets_at}, or let a person import a file`;
  return new Refusal('rate_limited', detail, {
    retryAfter: Math.ceil((Date.parse(resets_at) - Date.parse(at)) / 1_000),
    members: { limit: MAX_REMEMBERED_A_DAY, resets_at },
  });
};

/** `key_id` is the runner key; null if a person writes. */
export type Writing = { readonly key_id: string | null; readonly at: string };

const memoryIsFull = (): Refusal =>
  conflict(
    '/path/agent_id',
    'memory_full',
    `The agent has remembered ${MAX_REMEMBERED} entries, which is the maximum: forget some of them, or import them as a file instead`,
    { limit: MAX_REMEMBERED },
  );

/** Why no entry can be added: conflict (memory_full), or rate_limited if the runner key wrote too many today. */
export const limitReached = (memory: AgentMemory, { key_id, at }: Writing): Refusal | null => {
  if (memory.entries >= MAX_REMEMBERED) return memoryIsFull();
  return key_id !== null && writtenOn(memory, key_id, at) >= MAX_REMEMBERED_A_DAY ? dayIsFull(at) : null;
};

/**
 * Does nothing if the last entry has the same stored text, which contains random characters. @throws Refusal conflict (memory_full),
 * rate_limited
 */
export const remember =
  (fields: RememberedFields, writing: Writing) =>
  (memory: AgentMemory): AgentMemoryEvent[] => {
    if (memory.last?.sha256 === fields.sha256) return [];
    const refusal = limitReached(memory, writing);
    if (refusal) throw refusal;
    return [{ type: 'MemoryRemembered', data: { ...fields, entry_id: entryIdOf(fields.agent_id, lengthOf(memory.runs)) } }];
  };

const forgotten = (agent_id: string, ranges: readonly IndexRange[], since: string | null): AgentMemoryEvent => ({
  type: 'MemoryForgotten',
  data: {
    ...{ agent_id, entries: countOf(ranges), since },
    ranges: ranges.map(({ first, last }) => ({ first: entryIdOf(agent_id, first), last: entryIdOf(agent_id, last) })),
  },
});

export const rememberedIn = ({ runs }: AgentMemory, ranges: readonly IndexRange[]): IndexRange[] => intersection(keptRanges(runs), ranges);

/**
 * Forgets the entries since the time `since` in these ranges. If there are very many ranges, forgets only the first ones: the caller must
 * repeat it.
 */
export const forgetSince =
  (since: string, ranges: readonly IndexRange[]) =>
  (memory: AgentMemory): AgentMemoryEvent[] =>
    groupsOf(rememberedIn(memory, ranges).slice(0, MAX_FORGOTTEN_RANGES), MAX_FORGOTTEN).map((group) =>
      forgotten(memory.agent_id, group, since),
    );

/** @throws Refusal not_found if the agent does not remember it, or no longer */
export const forget =
  (entry_id: string) =>
  (memory: AgentMemory): AgentMemoryEvent[] => {
    const index = indexOfEntry(entry_id);
    const found = isEntryOf(memory.agent_id, entry_id) ? rememberedIn(memory, [{ first: index, last: index }]) : [];
    if (found.length === 0) throw notFound();
    return [forgotten(memory.agent_id, found, null)];
  };
