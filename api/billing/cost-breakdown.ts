import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import * as Model from '../../domain/agents/model.ts';
import { totalOf, type UsageRow } from '../../domain/billing/agent-costs.ts';
import { addDays, HISTORY_DAYS, largestAnomaly } from '../../domain/billing/anomaly.ts';
import { repricedMicros } from '../../domain/billing/repricing.ts';
import { idOf } from '../../domain/id.ts';
import * as User from '../../domain/identity/user.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { usdOf } from '../../domain/money.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as Skill from '../../domain/skills/skill.ts';
import { dailyCosts, usageByDay, usageOfMessages } from '../../projections/billing/cost.queries.ts';
import { costs } from '../../projections/billing/cost.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { CostPeriod, dayOf, nextDay, type Period, PeriodQuery, periodOf, startOf, usageOf } from './cost-period.ts';
import { CostSeries, compareCosts, NOT_COMPARED, PreviousCosts } from './cost-series.ts';

const GROUPINGS = ['day', 'agent', 'model', 'cause'] as const;
type Grouping = (typeof GROUPINGS)[number];

/**
 * The maximum number of groups whose names are looked up, the most expensive first. The other groups are shown by their
 * keys.
 */
const MAX_NAMED = 500;

const usd = (description: string, example: number) => z.number().meta({ description, examples: [example] });

const Anomaly = z.object({
  day: z.string().meta({ description: 'The day (UTC) whose cost was furthest above the floor', examples: ['2026-03-14'] }),
  cost_usd: usd('The cost of that day', 9.5),
  median_usd: usd('The median of the daily costs of the 30 days before it', 1.2),
  spread_usd: usd('The median absolute deviation (MAD) of these costs', 0.3),
  floor_usd: usd('From this cost on, a day is unusual: the median, five times the spread, and 1 USD', 3.7),
});

const CostGroup = z.object({
  key: z.string().meta({
    description: 'The day, or the id of the agent or model, or the kind and the id of the cause; empty if there is none',
    examples: ['czdoc9is0j8ht9lgmxg9edn58'],
  }),
  label: z.string().meta({ description: 'The name of the group', examples: ['Reviewer'] }),
  cost_usd: usd('What the use was billed with, in US dollars', 2.88),
  repriced_usd: usd('What the same tokens cost at the present prices of the models; as billed where a model has none', 2.88),
  requests: z.int().meta({ description: 'The number of messages that report the use of a model', examples: [120] }),
  agent_id: idOf('agent').nullable().meta({ description: 'Of a cron job: its agent; null for all other groups' }),
  anomaly: Anomaly.nullable().meta({
    description: 'Of an agent: its most unusual day of the period; null if there is none',
    examples: [null],
  }),
});

export const CostBreakdown = z
  .object({
    period: CostPeriod.meta({ description: 'The period of the costs' }),
    groups: z.array(CostGroup).meta({ description: 'The groups with use: days in their order, others the most expensive first' }),
    total_cost_usd: usd('The cost of all groups in US dollars', 2.88),
    total_repriced_usd: usd('The repriced cost of all groups in US dollars', 2.88),
    series: z.array(CostSeries).nullable().meta({
      description:
        'The days of the five agents that cost the most, and of all others; null without `series_by`, or if the period does not consist of whole days',
    }),
    previous: PreviousCosts.nullable().meta({
      description: 'The period of the same length before; null without `series_by`, or if the period does not consist of whole days',
    }),
    forecast_usd: z
      .number()
      .nullable()
      .meta({
        description:
          'What the period will have cost if its rest costs as much per day as the last seven days, or as those since the first use of a model; null without `series_by`, if the period does not consist of whole days, if it has not begun or is over, or without use before today',
        examples: [5.76],
      }),
  })
  .meta({ id: 'CostBreakdown' });

type Dated = UsageRow & { readonly day?: string };
type Group = { key: string; cost_micros: number; repriced_micros: number; requests: number };

/**
 * Returns the usage of each day in the period. If the period starts or ends in the middle of a day, only the part of
 * that day within the period counts.
 */
const datedUsage = async ({ reads, tenant: tenant_id }: Ctx, { start, end }: Period): Promise<Dated[]> => {
  const part = async (from: string, to: string): Promise<Dated[]> =>
    from < to ? (await usageOfMessages(reads, { tenant_id, from, to })).map((row) => ({ ...row, day: dayOf(from) })) : [];
  const [first, last] = [nextDay(start), dayOf(end)];
  if (first > last) return part(start, end);
  const [beginning, middle, ending] = await Promise.all([
    part(start, startOf(first)),
    first < last ? usageByDay(reads, { tenant_id, from: first, to: last }) : [],
    part(startOf(last), end),
  ]);
  return [...beginning, ...middle, ...ending];
};

const KEYS: Readonly<Record<Grouping, (row: Dated) => string>> = {
  day: ({ day }) => day ?? '',
  agent: ({ agent_id }) => agent_id,
  model: ({ model_id }) => model_id,
  cause: ({ cause_kind, cause_id }) => (cause_id ? `${cause_kind}:${cause_id}` : cause_kind),
};

/** Returns the models of these rows by id. Their states contain the current prices. */
const pricesOf = async (ctx: Ctx, rows: readonly Dated[]): Promise<ReadonlyMap<string, Model.Model>> => {
  const ids = [...new Set(rows.map(({ model_id }) => model_id))].filter((id) => id !== '');
  return new Map(await Promise.all(ids.map(async (id): Promise<[string, Model.Model]> => [id, (await ctx.load(Model, id)).state])));
};

const groupsOf = (rows: readonly Dated[], group_by: Grouping, models: ReadonlyMap<string, Model.Model>): Group[] => {
  const groups = [...Map.groupBy(rows, KEYS[group_by])].map(([key, members]) => {
    const { cost_micros, requests } = totalOf(members);
    const repriced = members.reduce((sum, row) => sum + repricedMicros(row, models.get(row.model_id)?.pricing ?? {}), 0);
    return { key, cost_micros, repriced_micros: Math.round(repriced), requests };
  });
  if (group_by === 'day') return groups.sort((a, b) => (a.key < b.key ? -1 : 1));
  return groups.sort((a, b) => b.cost_micros - a.cost_micros || (a.key < b.key ? -1 : 1));
};

const causeName = async (ctx: Ctx, kind: string, id: string): Promise<string | undefined> => {
  switch (kind) {
    case 'webhook':
      return (await ctx.load(Integration, id)).state.label;
    case 'cron_job':
      return (await ctx.load(CronJob, id)).state.name;
    case 'skill':
      return (await ctx.load(Skill, id)).state.name;
    case 'user':
      return (await ctx.load(User, id)).state.name || undefined;
    default:
      return undefined;
  }
};

/** Returns the agent of the cron job that is a group's cause; null for any other group. */
const agentOf = async (ctx: Ctx, group_by: Grouping, key: string): Promise<string | null> => {
  const [kind, id] = key.split(':');
  return group_by === 'cause' && kind === 'cron_job' && id ? (await ctx.load(CronJob, id)).state.agent_id || null : null;
};

const UNNAMED: Readonly<Record<Grouping, string>> = { day: '', agent: '', model: 'no model', cause: 'unknown' };

const labelOf = async (ctx: Ctx, group_by: Grouping, key: string): Promise<string> => {
  if (group_by === 'day' || key === '') return key || UNNAMED[group_by];
  if (group_by === 'agent') return (await ctx.load(Agent, key)).state.name || key;
  if (group_by === 'model') return (await ctx.load(Model, key)).state.slug || key;
  const [kind = '', id] = key.split(':');
  return id === undefined ? kind : (await causeName(ctx, kind, id)) || key;
};

type Days = ReadonlyMap<string, ReadonlyMap<string, number>>;

/**
 * Returns the daily costs of each agent in the period, and in the HISTORY_DAYS days before it, with which they are
 * compared.
 */
const daysOfAgents = async ({ reads, tenant: tenant_id }: Ctx, { start, end }: Period): Promise<Days> => {
  const found = await dailyCosts(reads, { tenant_id, from: addDays(dayOf(start), -HISTORY_DAYS), to: nextDay(end) });
  return new Map(
    [...Map.groupBy(found, ({ agent_id }) => agent_id)].map(([id, days]) => [
      id,
      new Map(days.map(({ day, cost_micros }) => [day, cost_micros])),
    ]),
  );
};

const anomalyOf = (days: ReadonlyMap<string, number> | undefined, { start, end }: Period) => {
  const found = days && largestAnomaly(days, dayOf(start), nextDay(end));
  if (!found) return null;
  const { day, cost, median, spread, floor } = found;
  return { day, cost_usd: usdOf(cost), median_usd: usdOf(median), spread_usd: usdOf(spread), floor_usd: usdOf(floor) };
};

const breakdown = async (ctx: Ctx, period: Period, group_by: Grouping, isCompared: boolean) => {
  const rows: readonly Dated[] = group_by === 'day' ? await datedUsage(ctx, period) : await usageOf(ctx, period);
  const [models, days] = await Promise.all([pricesOf(ctx, rows), group_by === 'agent' ? daysOfAgents(ctx, period) : (new Map() as Days)]);
  const groups = groupsOf(rows, group_by, models);
  const shown = await Promise.all(
    groups.map(async ({ key, cost_micros, repriced_micros, requests }, index) => ({
      key,
      label: index < MAX_NAMED ? await labelOf(ctx, group_by, key) : key,
      cost_usd: usdOf(cost_micros),
      repriced_usd: usdOf(repriced_micros),
      requests,
      agent_id: index < MAX_NAMED ? await agentOf(ctx, group_by, key) : null,
      anomaly: anomalyOf(days.get(key), period),
    })),
  );
  const sum = (of: (group: Group) => number): number => usdOf(groups.reduce((total, group) => total + of(group), 0));
  return {
    period,
    groups: shown,
    total_cost_usd: sum(({ cost_micros }) => cost_micros),
    total_repriced_usd: sum(({ repriced_micros }) => repriced_micros),
    ...(isCompared ? await compareCosts(ctx, period) : NOT_COMPARED),
  };
};

export const costBreakdownOperations = {
  readCostBreakdown: operation({
    method: 'get',
    path: '/tenant/:tenant_id/billing/costs',
    summary: 'Break the costs of a tenant down',
    details:
      'By day, agent, model, or cause: the integration, skill, cron job or person that started the sessions. By default, the costs of the present month (UTC) by day; at most 400 days.',
    permit: 'tenant:billing:read',
    query: PeriodQuery.extend({
      group_by: z.enum(GROUPINGS).default('day').meta({ description: 'By what the costs are grouped' }),
      series_by: z.enum(['agent']).optional().meta({
        description: 'Adds the days of single agents, the period before, and a forecast, if the period consists of whole days (UTC)',
      }),
    }),
    reply: CostBreakdown,
    projection: costs.name,
    noETag: true,
    run: async (ctx, { start, end, group_by, series_by }) => {
      const found = await breakdown(ctx, periodOf(ctx.at(), { start, end }), group_by, series_by !== undefined);
      return { doc: JSON.stringify(CostBreakdown.parse(found)), revision: null };
    },
  }),
};
