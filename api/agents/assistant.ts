import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import * as Model from '../../domain/agents/model.ts';
import { PLATFORM } from '../../domain/event.ts';
import { integer } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { agentPage, primaryModelsOf } from '../../projections/agents/agent.queries.ts';
import { type AgentListRead, agents } from '../../projections/agents/agent.ts';
import { writeCursor } from '../../projections/cursor.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { Decimal } from '../http/paging.ts';
import { tenantsOfCaller } from './caller-tenants.ts';
import { agentVisibility } from './readable-agents.ts';

/** The name that is shown as the model of an assistant whose agent has no model. */
const DEFAULT_MODEL = 'default';

const AssistantObject = z
  .object({
    id: z.string().meta({ description: 'The id of the agent', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    object: z.literal('assistant').meta({ description: 'The kind of the object' }),
    created_at: z.int().meta({ description: 'When the agent was created, in Unix seconds', examples: [1772366400] }),
    name: z
      .string()
      .nullable()
      .meta({ description: 'The name of the agent', examples: ['Reviewer'] }),
    description: z
      .string()
      .nullable()
      .meta({ description: 'The description of the agent', examples: ['Reviews pull requests'] }),
    model: z.string().meta({ description: "The name of the agent's primary model, or `default`", examples: ['Model L'] }),
    instructions: z
      .string()
      .nullable()
      .meta({ description: 'The description for the model', examples: ['Be brief'] }),
    metadata: z
      .record(z.string(), z.string())
      .meta({ description: 'The tenant, the slug and the kind of the agent', examples: [{ slug: 'reviewer' }] }),
  })
  .meta({ id: 'AssistantObject' });

const AssistantList = z
  .object({
    object: z.literal('list').meta({ description: 'The kind of the object' }),
    data: z.array(AssistantObject).meta({ description: 'The assistants of this page' }),
    first_id: z
      .string()
      .nullable()
      .meta({ description: 'The id of the first assistant of the page', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    last_id: z
      .string()
      .nullable()
      .meta({ description: 'The id of the last assistant of the page', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    has_more: z.boolean().meta({ description: 'Whether there are further assistants in the direction of reading', examples: [false] }),
  })
  .meta({ id: 'AssistantList' });

const Query = z.strictObject({
  limit: Decimal(integer(1, 100).default(20)).meta({ description: 'How many assistants the page may have' }),
  order: z
    .enum(['asc', 'desc'])
    .default('desc')
    .meta({ description: 'By the time of creation: `asc` the oldest first, `desc` the newest first' }),
  after: Id25.optional().meta({ description: 'Only assistants after the one with this id, in the order of the list' }),
  before: Id25.optional().meta({ description: 'Only assistants before the one with this id, in the order of the list' }),
});

type Listed = z.output<typeof AgentListRead>;

/** The sort key of an agent in the list. */
type Place = Pick<Listed, 'created_at' | 'id'>;

const compareTexts = (one: string, other: string): number => Number(one > other) - Number(one < other);

const compare = (one: Place, other: Place): number => compareTexts(one.created_at, other.created_at) || compareTexts(one.id, other.id);

/** Returns a context of the request for each tenant that the caller may read. @throws Refusal forbidden */
const tenantContexts = async (ctx: Ctx): Promise<Ctx[]> => {
  if (ctx.principal.kind !== 'user') throw new Refusal('forbidden', 'This needs an API key of a user');
  const tenants = (await Array.fromAsync(tenantsOfCaller(ctx.principal, ctx.reads))).flat();
  const contexts = tenants.map((tenant) => ctx.inTenant(tenant));
  const readable = await Promise.all(contexts.map((inside) => inside.may('tenant:read')));
  return contexts.filter((_, index) => readable[index]);
};

/** Returns the sort key of the agent with this id. @throws Refusal invalid if the caller may not see the agent */
const findListed = async (contexts: readonly Ctx[], id: string, parameter: 'after' | 'before'): Promise<Place> => {
  for (const inside of contexts) {
    const { state } = await inside.load(Agent, id);
    if (state.status === 'live' && (await inside.may('agent:read', id))) return { created_at: state.created_at, id };
  }
  throw invalid(`/query/${parameter}`, 'there is no such assistant', 'unknown_assistant');
};

type Range = { readonly descending: boolean; readonly after: Place | undefined; readonly limit: number };

/** Returns the first agents after `after`, from all tenants together, and whether there are more. */
const readRange = async (contexts: readonly Ctx[], { descending, after, limit }: Range): Promise<{ found: Listed[]; hasMore: boolean }> => {
  const sort = { column: 'created_at', descending };
  const window = { sort, limit, cursor: after && writeCursor([after.created_at, after.id], sort) };
  const inOrder: typeof compare = descending ? (one, other) => compare(other, one) : compare;
  const readPage = async (inside: Ctx) => {
    const { body, next } = await agentPage(inside.reads, inside.tenant, { visibility: await agentVisibility(inside) }, window);
    const listed = JSON.parse(body) as Listed[];
    return { listed, last: next === null ? null : listed.at(-1)! };
  };
  const pages = await Promise.all(contexts.map(readPage));
  // The page of a tenant can be shorter than the limit, if its documents are large. Agents of other tenants that come
  // after the end of that page are then left for the next page; otherwise, the agents in between would be skipped.
  const ends = pages.flatMap(({ last }) => last ?? []).toSorted(inOrder);
  const all = pages.flatMap(({ listed }) => listed).toSorted(inOrder);
  const found = all.filter((agent) => ends.length === 0 || inOrder(agent, ends[0]!) <= 0).slice(0, limit);
  return { found, hasMore: ends.length > 0 || all.length > found.length };
};

type Bounds = {
  readonly limit: number;
  readonly descending: boolean;
  readonly after?: Place | undefined;
  readonly before?: Place | undefined;
};

/**
 * Returns a page of agents in list order. If only `before` is given, the page contains the agents directly before it.
 */
const readBetween = async (contexts: readonly Ctx[], { limit, descending, after, before }: Bounds) => {
  if (before && !after) {
    const { found, hasMore } = await readRange(contexts, { descending: !descending, after: before, limit });
    return { found: found.toReversed(), hasMore };
  }
  const { found, hasMore } = await readRange(contexts, { descending, after, limit: before ? limit + 1 : limit });
  if (!before) return { found, hasMore };
  const between = found.filter((agent) => (descending ? compare(agent, before) > 0 : compare(agent, before) < 0));
  return { found: between.slice(0, limit), hasMore: between.length > limit };
};

const modelNames = async (ctx: Ctx, found: readonly Listed[]): Promise<Map<string, string>> => {
  const byTenant = Map.groupBy(found, ({ tenant_id }) => tenant_id);
  const chains = await Promise.all(
    [...byTenant].map(([tenant, listed]) =>
      primaryModelsOf(
        ctx.reads,
        tenant,
        listed.map(({ id }) => id),
      ),
    ),
  );
  const nameOf = async ([agent_id, model_id]: [string, string]): Promise<[string, string]> => {
    const { state } = await ctx.load(Model, model_id, { tenant: PLATFORM });
    return [agent_id, state.name];
  };
  return new Map(await Promise.all(chains.flatMap((chain) => [...chain].map(nameOf))));
};

const assistantOf = (
  { id, tenant_id, name, slug, kind, description, description_prompt, created_at }: Listed,
  model: string | undefined,
) => ({
  id,
  object: 'assistant' as const,
  created_at: Math.floor(Date.parse(created_at) / 1_000),
  name,
  description,
  model: model ?? DEFAULT_MODEL,
  instructions: description_prompt,
  metadata: { tenant_id, slug, kind },
});

export const assistantOperations = {
  listAssistants: operation({
    method: 'get',
    path: '/v1/assistants',
    summary: 'List the agents as assistants',
    details:
      'For clients that know lists of assistants. Lists the agents that the caller may see: in the tenant of the API key or, if it is not bound to one, in all tenants of its user.',
    permit: 'any',
    permissionNote: 'Shows the agents on which the caller has the permission `agent:read`.',
    query: Query,
    reply: AssistantList,
    projection: agents.name,
    noETag: true,
    run: async (ctx, { limit, order, after, before }) => {
      const contexts = await tenantContexts(ctx);
      const [afterPlace, beforePlace] = await Promise.all([
        after === undefined ? undefined : findListed(contexts, after, 'after'),
        before === undefined ? undefined : findListed(contexts, before, 'before'),
      ]);
      const bounds = { limit, descending: order === 'desc', after: afterPlace, before: beforePlace };
      const { found, hasMore } = await readBetween(contexts, bounds);
      const models = await modelNames(ctx, found);
      const data = found.map((agent) => assistantOf(agent, models.get(agent.id)));
      const list = { object: 'list' as const, data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: hasMore };
      return { doc: JSON.stringify(list), revision: null };
    },
  }),
};
