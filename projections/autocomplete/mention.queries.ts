import { type Kysely, type RawBuilder, sql } from 'kysely';
import { containsPattern, defineQueryOn, searchKey, searchKeyRange } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** The types of resources that people can mention in texts. */
export const MENTION_TYPES = ['agent', 'user', 'skill', 'tool', 'file', 'session', 'integration', 'cron_job'] as const;
export type MentionType = (typeof MENTION_TYPES)[number];

/**
 * A row that matches a text. `label` is the text that people see; null if the row has none. `agent_id` is the agent to
 * which a cron job belongs.
 */
export type Mention = { readonly id: string; readonly label: string | null; readonly detail: string | null; readonly agent_id?: string };

/** Restricts the rows that are searched. */
export type MentionFilter = {
  /** The tenant of the rows; absent for tables without a tenant column. */
  readonly tenant_id?: string;
  /** Selects only the rows with these ids or, depending on the table, the rows of these agents. */
  readonly only?: readonly string[] | undefined;
  /** Selects only skills with this visibility. */
  readonly visibility?: string | undefined;
};

/** The table that a type of mention searches, and its columns. */
type Source = {
  readonly from: string;
  readonly id: string;
  readonly label: string;
  readonly detail: string;
  /** The column that `only` restricts. */
  readonly only: string;
  /** The column that marks deleted rows, if these stay in the table. */
  readonly deleted?: 'deleted' | 'disconnected';
  /** Whether the id of the agent to which a row belongs is returned. */
  readonly isOfAgent?: true;
};

const SOURCES: Readonly<Record<MentionType, Source | readonly Source[]>> = {
  agent: { from: 'agents.agents', id: 'id', label: 'name', detail: 'slug', only: 'id', deleted: 'deleted' },
  user: { from: 'users.users', id: 'id', label: 'name', detail: 'email', only: 'id' },
  skill: { from: 'skills.skills', id: 'id', label: 'name', detail: 'slug', only: 'id', deleted: 'deleted' },
  tool: { from: 'tools.tools', id: 'id', label: 'display_name', detail: 'name', only: 'id', deleted: 'deleted' },
  file: ['sessions.attachments', 'mail.attachments'].map((from) => ({
    ...{ from, id: 'sha256', label: 'filename', detail: 'content_type', only: 'agent_id' },
  })),
  session: { from: 'sessions.sessions', id: 'id', label: 'title', detail: 'status', only: 'agent_id' },
  integration: {
    from: 'integrations.integrations',
    id: 'id',
    label: 'label',
    detail: 'provider',
    only: 'agent_id',
    deleted: 'disconnected',
  },
  cron_job: { from: 'cron_jobs.jobs', id: 'id', label: 'name', detail: 'status', only: 'agent_id', deleted: 'deleted', isOfAgent: true },
};

/** The projections whose tables the search for each type reads. */
export const MENTION_PROJECTIONS = Object.fromEntries(
  MENTION_TYPES.map((type) => [type, [SOURCES[type]].flat().map(({ from }) => from.split('.')[0]!)]),
) as unknown as Readonly<Record<MentionType, readonly string[]>>;

type Args = MentionFilter & {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly pattern?: string | undefined;
  /** Set if the rows that start with the text need no order. Then the database looks them up by their ids. */
  readonly unordered?: true | undefined;
  readonly limit: number;
};
type Tables = Record<string, Record<string, unknown>>;

/**
 * Returns an expression with the same value for which the database uses no index. It then has to find the rows by
 * another condition.
 */
const unindexed = (key: RawBuilder<string>): RawBuilder<string> => sql<string>`${key} || ''`;

/**
 * Defines the query for one table. The query returns the rows whose first searched column starts with a text, in
 * alphabetical order, or the rows that contain a text anywhere, in no particular order.
 */
const mentionsIn = (source: Source) =>
  defineQueryOn<never>()((db, { tenant_id, only, visibility, from, to, pattern, unordered, limit }: Args) =>
    (db as unknown as Kysely<Tables>)
      .selectFrom(`${source.from} as row`)
      .select([`row.${source.id} as id`, `row.${source.label} as label`, `row.${source.detail} as detail`])
      .$if(tenant_id !== undefined, (query) => query.where('row.tenant_id', '=', tenant_id))
      .$if(source.isOfAgent === true, (query) => query.select('row.agent_id'))
      .$if(source.deleted !== undefined, (query) => query.where(`row.${source.deleted}`, 'is not', true))
      .$if(only !== undefined, (query) => query.where(({ eb, fn, val }) => eb(`row.${source.only}`, '=', fn.any(val(only)))))
      .$if(visibility !== undefined, (query) => query.where('row.visibility', '=', visibility))
      .$if(pattern !== undefined, (query) => query.where('row.search', 'ilike', pattern))
      .$if(from !== undefined, (query) => {
        const key = unordered ? unindexed(searchKey('row')) : searchKey('row');
        return query.where(key, '>=', from!).where(key, '<', to!);
      })
      .$if(from !== undefined && unordered === undefined, (query) => query.orderBy(searchKey('row')).orderBy(`row.${source.id}`))
      .limit(limit),
  );

/** The types for which `only` has the ids of the rows. */
const SELECTED_BY_ID: readonly MentionType[] = ['agent', 'user'];

type MentionQuery = ReturnType<typeof mentionsIn>;

const QUERIES = Object.fromEntries(MENTION_TYPES.map((type) => [type, [SOURCES[type]].flat().map(mentionsIn)])) as unknown as Readonly<
  Record<MentionType, readonly MentionQuery[]>
>;

/**
 * Only texts of at least this many characters are searched for within other texts, because the index consists of groups
 * of three characters.
 */
const MIN_PATTERN_LENGTH = 3;
/**
 * If a caller may see at most this many agents or users, the query looks these rows up by their ids. In alphabetical
 * order, the database might read very many names that start with the text before it finds enough rows that the caller
 * may see.
 */
const MAX_LOOKED_UP = 1_000;
/** The maximum number of rows that one search reads because they contain the text anywhere. */
const MAX_CONTAINING = 200;

/**
 * Returns rows of this type whose texts start with `text`. If there are fewer than `limit`, adds rows that contain
 * `text` elsewhere. If very many rows contain it, only some of them are found.
 */
export const findMentions = async (
  reads: Reads,
  type: MentionType,
  text: string,
  { limit, ...filter }: MentionFilter & { readonly limit: number },
): Promise<Mention[]> => {
  const read = async (args: Omit<Args, keyof MentionFilter>): Promise<Mention[]> =>
    (await Promise.all(QUERIES[type].map((query) => reads.rows(query, { ...filter, ...args })))).flat() as unknown as Mention[];
  const range = searchKeyRange(text);
  const few = SELECTED_BY_ID.includes(type) && filter.only !== undefined && filter.only.length <= MAX_LOOKED_UP;
  const first = range ? await read({ ...range, ...(few ? { unordered: true, limit: MAX_LOOKED_UP } : { limit }) }) : [];
  if (first.length >= limit || text.length < MIN_PATTERN_LENGTH) return first;
  const found = new Set(first.map(({ id }) => id));
  const containing = await read({ pattern: containsPattern(text), limit: MAX_CONTAINING });
  return [...first, ...containing.filter(({ id }) => !found.has(id))];
};
