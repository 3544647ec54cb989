import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import * as Model from '../../domain/agents/model.ts';
import { NO_USAGE, topModel, totalOf, totalsBy, type UsageRow, type UsageTotals } from '../../domain/billing/agent-costs.ts';
import { addDays, HISTORY_DAYS, hasUnusualDay } from '../../domain/billing/anomaly.ts';
import { usdOf } from '../../domain/money.ts';
import { CAUSE_KINDS } from '../../domain/sessions/session.ts';
import { agentNames } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { dailyCosts } from '../../projections/billing/cost.queries.ts';
import { costs } from '../../projections/billing/cost.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { Flag } from '../http/paging.ts';
import { CostPeriod, dayOf, nextDay, type Period, PeriodQuery, periodOf, usageOf } from './cost-period.ts';

const Count = z.int().min(0);
const usageFields = {
  requests: Count.meta({ description: 'The number of messages that report the use of a model', examples: [120] }),
  input_tokens: Count.meta({ description: 'The tokens that were sent to models', examples: [480_000] }),
  output_tokens: Count.meta({ description: 'The tokens that models returned', examples: [96_000] }),
  cost_usd: z.number().meta({ description: 'The cost in US dollars', examples: [2.88] }),
};

export const AgentCostRow = z
  .object({
    agent_id: z.string().meta({ description: 'The id of the agent', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    agent_name: z.string().meta({ description: 'The name of the agent', examples: ['Reviewer'] }),
    ...usageFields,
    anomaly: z.boolean().meta({
      description: 'Whether a day of the period cost at least 1 USD more than the median plus 5 MAD of the 30 days before it',
      examples: [false],
    }),
    top_model: z
      .string()
      .nullable()
      .meta({ description: 'The slug of the model that cost most; null if no model was used', examples: ['claude-sonnet'] }),
  })
  .meta({ id: 'AgentCostRow' });

export const CauseCostRow = z
  .object({
    cause_kind: z.enum(CAUSE_KINDS).meta({ description: 'What started the sessions', examples: ['webhook'] }),
    cause_id: z
      .string()
      .nullable()
      .meta({ description: 'The id of the integration, skill, cron job or user', examples: ['cj8b7tfq7xkwo886vompzom75'] }),
    ...usageFields,
  })
  .meta({ id: 'CauseCostRow' });

export const AgentCostsResponse = z
  .object({
    period: CostPeriod.meta({ description: 'The period of the costs' }),
    agents: z.array(AgentCostRow).meta({ description: 'Every agent of the tenant, the most expensive first' }),
    total_cost_usd: z.number().meta({ description: 'The cost of all agents in US dollars', examples: [2.88] }),
    causes: z
      .array(CauseCostRow)
      .optional()
      .meta({ description: 'With `include_causes`: the same costs by what started the sessions, the most expensive first' }),
  })
  .meta({ id: 'AgentCostsResponse' });

const CostsQuery = PeriodQuery.extend({
  include_causes: Flag.optional().meta({ description: 'Whether to show the costs by what started the sessions, too' }),
});

/** Returns the ids of the agents whose costs were unusual on at least one day of the period. */
const unusualAgents = async ({ reads, tenant: tenant_id }: Ctx, { start, end }: Period): Promise<ReadonlySet<string>> => {
  const [from, to] = [dayOf(start), nextDay(end)];
  const days = Map.groupBy(await dailyCosts(reads, { tenant_id, from: addDays(from, -HISTORY_DAYS), to }), ({ agent_id }) => agent_id);
  const found = new Set<string>();
  for (const [agent_id, costs] of days)
    if (hasUnusualDay(new Map(costs.map(({ day, cost_micros }) => [day, cost_micros])), from, to)) found.add(agent_id);
  return found;
};

const shown = ({ cost_micros, ...usage }: UsageTotals) => ({ ...usage, cost_usd: usdOf(cost_micros) });

const byCost = (a: { readonly cost_usd: number }, b: { readonly cost_usd: number }): number => b.cost_usd - a.cost_usd;

const slugsOf = async (ctx: Ctx, ids: readonly (string | null)[]): Promise<ReadonlyMap<string, string>> => {
  const known = [...new Set(ids)].filter((id) => id !== null);
  return new Map(await Promise.all(known.map(async (id): Promise<[string, string]> => [id, (await ctx.load(Model, id)).state.slug])));
};

/**
 * Returns the ids and names of all live agents, and of deleted agents with usage. An agent with usage can be missing in
 * the list of agents, because the list may lag behind; it is loaded from its stream.
 */
const shownAgents = async (ctx: Ctx, withUsage: readonly string[]): Promise<{ id: string; name: string }[]> => {
  const used = new Set(withUsage);
  const listed = await agentNames(ctx.reads, ctx.tenant);
  const known = new Set(listed.map(({ id }) => id));
  const missing = withUsage.filter((id) => !known.has(id));
  const loaded = await Promise.all(missing.map(async (id) => ({ id, name: (await ctx.load(Agent, id)).state.name })));
  return [...listed.filter(({ id, deleted }) => !deleted || used.has(id)), ...loaded];
};

const agentRows = async (ctx: Ctx, usage: readonly UsageRow[], period: Period) => {
  const byAgent = Map.groupBy(usage, ({ agent_id }) => agent_id);
  const tops = new Map([...byAgent].map(([id, rows]) => [id, topModel(rows)]));
  const [agents, unusual, slugs] = await Promise.all([
    shownAgents(ctx, [...byAgent.keys()]),
    unusualAgents(ctx, period),
    slugsOf(ctx, [...tops.values()]),
  ]);
  return agents
    .map(({ id, name }) => {
      const rows = byAgent.get(id);
      const top = tops.get(id) ?? null;
      const top_model = top === null ? null : (slugs.get(top) ?? null);
      return { agent_id: id, agent_name: name, ...shown(rows ? totalOf(rows) : NO_USAGE), anomaly: unusual.has(id), top_model };
    })
    .sort((a, b) => byCost(a, b) || (a.agent_name < b.agent_name ? -1 : 1));
};

const causeRows = (usage: readonly UsageRow[]) =>
  [...totalsBy(usage, ({ cause_kind, cause_id }) => `${cause_kind} ${cause_id}`)]
    .map(([key, totals]) => {
      const [cause_kind, cause_id] = key.split(' ');
      return { cause_kind, cause_id: cause_id || null, ...shown(totals) };
    })
    .sort(byCost);

export const agentCostOperations = {
  readAgentCosts: operation({
    method: 'get',
    path: '/tenant/:tenant_id/billing/agent-costs',
    summary: 'Read what the agents of a tenant have cost',
    details: 'By default, those of the present month (UTC); at most 400 days. Deleted agents are shown if they have cost something.',
    permit: 'tenant:billing:read',
    query: CostsQuery,
    reply: AgentCostsResponse,
    projection: costs.name,
    otherProjections: [agents.name],
    noETag: true,
    run: async (ctx, { start, end, include_causes }) => {
      const period = periodOf(ctx.at(), { start, end });
      const usage = await usageOf(ctx, period);
      const agents = await agentRows(ctx, usage, period);
      const total_cost_usd = usdOf(totalOf(usage).cost_micros);
      const causes = include_causes ? { causes: causeRows(usage) } : {};
      return { doc: JSON.stringify(AgentCostsResponse.parse({ period, agents, total_cost_usd, ...causes })), revision: null };
    },
  }),
};
