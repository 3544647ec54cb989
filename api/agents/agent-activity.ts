import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { usdOf } from '../../domain/money.ts';
import { type AgentRanks, agentPage } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { givenUpByAgent, hoursByAgent, queueByAgent, receivedByAgent } from '../../projections/agents/agent-activity.queries.ts';
import { dailyCosts } from '../../projections/billing/cost.queries.ts';
import { costs } from '../../projections/billing/cost.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { idList } from '../http/id-list.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { reuse } from '../http/reuse.ts';
import { agentVisibility, readableAgents } from './readable-agents.ts';

const DAY_MS = 86_400_000;
const HOURS = 24;

/** What agents can be sorted by besides their own fields. */
export const ACTIVITY_SORTS = ['activity', 'queue', 'deliveries', 'failed', 'cost'] as const;
type ActivitySort = (typeof ACTIVITY_SORTS)[number];

export const isActivitySort = (column: string): column is ActivitySort => (ACTIVITY_SORTS as readonly string[]).includes(column);

/** The projections from which lists that are sorted by activity get rows. */
export const ACTIVITY_PROJECTIONS = [deliveries.name, costs.name] as const;

type Numbers = {
  readonly deliveries: number;
  readonly failed: number;
  readonly queue: number;
  readonly cost_micros: number;
  readonly last_at: string | null;
};

const NONE: Numbers = { deliveries: 0, failed: 0, queue: 0, cost_micros: 0, last_at: null };

const readNumbers = async ({ reads, tenant: tenant_id }: Ctx, now: string): Promise<ReadonlyMap<string, Numbers>> => {
  const from = new Date(Date.parse(now) - DAY_MS).toISOString();
  const [day, next] = [now.slice(0, 10), new Date(Date.parse(now) + DAY_MS).toISOString().slice(0, 10)];
  const [received, givenUp, queues, spent] = await Promise.all([
    receivedByAgent(reads, { tenant_id, from }),
    givenUpByAgent(reads, { tenant_id, given_up_from: from }),
    queueByAgent(reads, tenant_id),
    dailyCosts(reads, { tenant_id, from: day, to: next }),
  ]);
  const numbers = new Map<string, Numbers>();
  const add = (agent_id: string, more: Partial<Numbers>) => numbers.set(agent_id, { ...(numbers.get(agent_id) ?? NONE), ...more });
  for (const { agent_id, ...more } of received) add(agent_id, more);
  for (const { agent_id, count } of givenUp) add(agent_id, { failed: count });
  for (const { agent_id, count } of queues) add(agent_id, { queue: count });
  for (const { agent_id, cost_micros } of spent) add(agent_id, { cost_micros });
  return numbers;
};

/** The time in seconds for which the numbers of a tenant's agents are cached, so that the pages of a list are consistent. */
export const REUSED_SECONDS = 5;
const MAX_TENANTS = 1_000;

const reused = reuse<ReadonlyMap<string, Numbers>>(REUSED_SECONDS * 1_000, MAX_TENANTS);

/** Returns the numbers of all agents of the tenant, at most REUSED_SECONDS old. */
const numbersOf = (ctx: Ctx): Promise<ReadonlyMap<string, Numbers>> => reused(ctx, ctx.tenant, () => readNumbers(ctx, ctx.at()));

const RANKS: Readonly<Record<ActivitySort, (numbers: Numbers) => number>> = {
  activity: ({ last_at }) => (last_at === null ? 0 : Date.parse(last_at)),
  queue: ({ queue }) => queue,
  deliveries: (numbers) => numbers.deliveries,
  failed: ({ failed }) => failed,
  cost: ({ cost_micros }) => cost_micros,
};

/** Returns what the caller may see: the delivery counts of which agents (undefined: of all), and whether costs. */
const visibleNumbers = async (ctx: Ctx) => {
  const [agent_ids, mayReadCosts] = await Promise.all([readableAgents(ctx), ctx.may('tenant:billing:read')]);
  const readable = agent_ids && new Set(agent_ids);
  return { mayReadCosts, mayRead: (agent_id: string): boolean => readable === undefined || readable.has(agent_id) };
};

/** Returns the numbers by which agents are sorted. What the caller may not see counts as 0. */
export const agentRanks = async (ctx: Ctx, sort: ActivitySort): Promise<AgentRanks> => {
  const [{ mayReadCosts, mayRead }, numbers] = await Promise.all([visibleNumbers(ctx), numbersOf(ctx)]);
  const isShown = sort === 'cost' ? () => mayReadCosts : mayRead;
  return new Map([...numbers].flatMap(([id, of]) => (isShown(id) && RANKS[sort](of) > 0 ? [[id, RANKS[sort](of)] as const] : [])));
};

const count = (description: string, example: number) =>
  z
    .int()
    .nullable()
    .meta({ description, examples: [example] });

export const AgentActivity = z
  .object({
    agent_id: idOf('agent'),
    deliveries: count('How many deliveries to the agent were received in the last 24 hours; null if the caller may not read them', 64),
    failed: count(
      'How many deliveries to the agent were given up in the last 24 hours, whenever they were received; null if the caller may not read them',
      2,
    ),
    queue: count('How many deliveries are neither acknowledged nor given up; null if the caller may not read them', 3),
    buckets: z
      .array(z.int())
      .length(HOURS)
      .meta({
        description: 'How many were received in each of the last 24 hours, the earliest first',
        examples: [[...Array(HOURS - 1).fill(0), 64]],
      }),
    last_at: Timestamp.nullable().meta({
      description: 'When the last delivery of the last 24 hours was received; null if there was none',
      examples: [null],
    }),
    cost_usd: z
      .number()
      .nullable()
      .meta({
        description: 'What the use of models has cost today (UTC), in US dollars; null without the permission `tenant:billing:read`',
        examples: [0.42],
      }),
    budget_usd: z
      .number()
      .nullable()
      .meta({ description: 'The hourly budget in US dollars; null without a limit', examples: [0.5] }),
    used_usd: z.number().meta({ description: 'What is spent and reserved in this hour, in US dollars', examples: [0.12] }),
  })
  .meta({ id: 'AgentActivity' });

/** The maximum number of agent ids in a query parameter. */
export const MAX_IDS = 200;

/** The schema of a query parameter with a list of agent ids. */
export const AgentIds = idList('agents', MAX_IDS);

const query = z.strictObject({
  agent_id: AgentIds.optional().meta({ description: `Only these agents, separated by commas; by default, the newest ${MAX_IDS}` }),
});

const budgetOf = async (ctx: Ctx, agent_id: string) => {
  const { hourly_limit_micros: limit } = (await ctx.load(Agent, agent_id)).state;
  if (limit === null) return { budget_usd: null, used_usd: 0 };
  const at = ctx.at();
  const { state } = await ctx.load(BudgetHour, BudgetHour.budgetHourId(agent_id, at));
  return { budget_usd: usdOf(limit), used_usd: usdOf(BudgetHour.committedMicros(state, at)) };
};

const readActivity = async (ctx: Ctx, ids: readonly string[]): Promise<z.output<typeof AgentActivity>[]> => {
  const [{ mayReadCosts, mayRead }, numbers] = await Promise.all([visibleNumbers(ctx), numbersOf(ctx)]);
  const from = new Date(Date.parse(ctx.at()) - DAY_MS).toISOString();
  const received = await hoursByAgent(ctx.reads, { tenant_id: ctx.tenant, from, agent_ids: ids.filter(mayRead) });
  const hours = Map.groupBy(received, ({ agent_id }) => agent_id);
  return Promise.all(
    ids.map(async (agent_id) => {
      const { cost_micros, last_at, ...counts } = numbers.get(agent_id) ?? NONE;
      const buckets = new Array<number>(HOURS).fill(0);
      for (const { hour, count } of hours.get(agent_id) ?? []) buckets[Math.min(hour, HOURS - 1)]! += count;
      const shown = mayRead(agent_id) ? { ...counts, last_at } : { deliveries: null, failed: null, queue: null, last_at: null };
      return { agent_id, ...shown, buckets, cost_usd: mayReadCosts ? usdOf(cost_micros) : null, ...(await budgetOf(ctx, agent_id)) };
    }),
  );
};

export const agentActivityOperations = {
  listAgentActivity: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/activity',
    summary: 'List what agents have done in the last 24 hours',
    details: `One entry for each agent that the caller may see, the newest agents first. The numbers can be ${REUSED_SECONDS} seconds old.`,
    permit: 'tenant:read',
    permissionNote:
      'Requires the permission `tenant:read`. The numbers of deliveries require `agent:chat:read` on the agent or `tenant:integrations:read`, costs `tenant:billing:read`.',
    query,
    reply: z.array(AgentActivity),
    projection: agents.name,
    otherProjections: ACTIVITY_PROJECTIONS,
    noETag: true,
    run: async (ctx, { tenant_id, agent_id }) => {
      const window = { sort: { column: 'created_at', descending: true }, limit: MAX_IDS };
      const page = await agentPage(ctx.reads, tenant_id, { visibility: await agentVisibility(ctx), ids: agent_id?.split(',') }, window);
      const ids = (JSON.parse(page.body) as { id: string }[]).map(({ id }) => id);
      return { body: JSON.stringify(z.array(AgentActivity).parse(await readActivity(ctx, ids))), next: null };
    },
  }),
};
