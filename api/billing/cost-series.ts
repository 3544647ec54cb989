import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { addDays } from '../../domain/billing/anomaly.ts';
import { FORECAST_DAYS, forecastOf } from '../../domain/billing/forecast.ts';
import { usdOf } from '../../domain/money.ts';
import { costliestAgents, dailyCostsOf, dailyTotals, firstCostDay } from '../../projections/billing/cost.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { CostPeriod, dayOf, type Period, startOf } from './cost-period.ts';

/** The number of agents that have a series of their own. */
const MAX_SERIES = 5;
const DAY_MS = 86_400_000;

const DayCost = z.object({
  day: z.string().meta({ description: 'The day (UTC)', examples: ['2026-03-14'] }),
  cost_usd: z.number().meta({ description: 'What the use was billed with on that day, in US dollars', examples: [2.88] }),
});

export const CostSeries = z.object({
  key: z.string().meta({ description: 'The id of the agent; empty for all other agents', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
  label: z.string().meta({ description: 'The name of the agent; empty for all other agents', examples: ['Reviewer'] }),
  days: z.array(DayCost).meta({ description: 'The days with use, in their order' }),
});

export const PreviousCosts = z.object({
  period: CostPeriod.meta({ description: 'The period of the same length before' }),
  total_cost_usd: z.number().meta({ description: 'Its cost in US dollars', examples: [1.44] }),
  days: z.array(DayCost).meta({ description: 'Its days with use, in their order' }),
});

type Costs = ReadonlyMap<string, number>;

const daysOf = (costs: Costs): z.output<typeof DayCost>[] =>
  [...costs]
    .filter(([, micros]) => micros > 0)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([day, micros]) => ({ day, cost_usd: usdOf(micros) }));

const sumOf = (costs: Costs): number => [...costs.values()].reduce((sum, micros) => sum + micros, 0);

const totals = async ({ reads, tenant: tenant_id }: Ctx, from: string, to: string): Promise<Costs> =>
  new Map((await dailyTotals(reads, { tenant_id, from, to })).map(({ day, cost_micros }) => [day, cost_micros]));

/** Returns the costs by day of the agents that have cost the most, and of all others together. */
const seriesOf = async (ctx: Ctx, all: Costs, from: string, to: string): Promise<z.output<typeof CostSeries>[]> => {
  const range = { tenant_id: ctx.tenant, from, to };
  const ids = await costliestAgents(ctx.reads, { ...range, most: MAX_SERIES });
  const byAgent = Map.groupBy(await dailyCostsOf(ctx.reads, { ...range, agent_ids: ids }), ({ agent_id }) => agent_id);
  const own = ids.map((id): [string, Costs] => [id, new Map(byAgent.get(id)?.map(({ day, cost_micros }) => [day, cost_micros]))]);
  const rest = new Map([...all].map(([day, micros]) => [day, micros - own.reduce((sum, [, costs]) => sum + (costs.get(day) ?? 0), 0)]));
  const named = own.map(async ([key, costs]) => ({ key, label: (await ctx.load(Agent, key)).state.name || key, days: daysOf(costs) }));
  return [...(await Promise.all(named)), ...(sumOf(rest) > 0 ? [{ key: '', label: '', days: daysOf(rest) }] : [])];
};

/** Returns what the period will have cost at its end, in micro-dollars. Null if it is over or has not begun, or without use before today. */
const forecastFor = async (ctx: Ctx, { start, end }: Period, spent: number): Promise<number | null> => {
  const now = ctx.at();
  if (now < start || now >= end) return null;
  const today = dayOf(now);
  const [first, recent] = await Promise.all([firstCostDay(ctx.reads, ctx.tenant), totals(ctx, addDays(today, -FORECAST_DAYS), today)]);
  return forecastOf({ spent, first, recent, now, end });
};

/** The fields of the breakdown of a period that is not compared with another one. */
export const NOT_COMPARED = { series: null, previous: null, forecast_usd: null };

/**
 * Returns the costs of the period by day and agent, those of the period before, and a forecast. The costs are stored for
 * whole days, so all three are null if the period does not consist of whole days.
 */
export const compareCosts = async (ctx: Ctx, period: Period) => {
  const { start, end } = period;
  const [from, to] = [dayOf(start), dayOf(end)];
  if (startOf(from) !== start || startOf(to) !== end) return NOT_COMPARED;
  const length = (Date.parse(end) - Date.parse(start)) / DAY_MS;
  const before = addDays(from, -length);
  const [all, earlier] = await Promise.all([totals(ctx, from, to), totals(ctx, before, from)]);
  const [series, forecast] = await Promise.all([seriesOf(ctx, all, from, to), forecastFor(ctx, period, sumOf(all))]);
  return {
    series,
    previous: { period: { start: startOf(before), end: start }, total_cost_usd: usdOf(sumOf(earlier)), days: daysOf(earlier) },
    forecast_usd: forecast === null ? null : usdOf(forecast),
  };
};
