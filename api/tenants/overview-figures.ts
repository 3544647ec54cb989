import type { z } from 'zod';
import { usdOf } from '../../domain/money.ts';
import type { HourCount, OpenCount } from '../../projections/tenants/overview-figures.queries.ts';
import { acceptedByHour, costsByHour, givenUpByHour, openCounts } from '../../projections/tenants/overview-figures.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { reuse } from '../http/reuse.ts';
import { HOURS, type Overview } from './overview-schema.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = HOURS * HOUR_MS;

/** Returns the time this many milliseconds before another one. */
export const before = (at: string, ms: number): string => new Date(Date.parse(at) - ms).toISOString();

type Figures = z.output<typeof Overview>['figures'];

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/** Returns the counts of two days as one number per hour. */
const hoursOf = (counts: readonly HourCount[]): number[] => {
  const hours = new Array<number>(2 * HOURS).fill(0);
  for (const { hour, count } of counts) if (hour >= 0) hours[Math.min(hour, hours.length - 1)]! += count;
  return hours;
};

const figureOf = (counts: readonly HourCount[], unit = (count: number): number => count): Figures['accepted'] => {
  const hours = hoursOf(counts);
  const [previous, last] = [hours.slice(0, HOURS), hours.slice(HOURS)];
  return { value: unit(sumOf(last)), previous: unit(sumOf(previous)), buckets: last.map(unit) };
};

const waitingOf = (open: readonly OpenCount[]): Figures['waiting'] => ({
  value: sumOf(open.map(({ count }) => count)),
  previous: null,
  buckets: hoursOf(open).slice(0, HOURS),
  oldest_at: open.reduce<string | null>((first, { oldest_at }) => (first === null || oldest_at < first ? oldest_at : first), null),
});

/** `agent_ids` are the agents whose deliveries the caller may read; undefined for all agents. */
type Counted = { readonly agent_ids: readonly string[] | undefined; readonly mayReadCosts: boolean };

/** How long the counts of the last two days are reused, in seconds: pages of a tenant read them at the same time. */
export const REUSED_SECONDS = 2;
const MAX_VIEWS = 1_000;
type Counts = Readonly<Record<'accepted' | 'dead', readonly HourCount[]>>;
const reused = reuse<Counts>(REUSED_SECONDS * 1_000, MAX_VIEWS);

const NONE: Counts = { accepted: [], dead: [] };

/** Counts the deliveries that were accepted in the two days up to `at`, and those that were given up in them. */
const countsOf = async ({ reads, tenant: tenant_id }: Ctx, agent_ids: Counted['agent_ids'], at: string): Promise<Counts> => {
  // The end of the period is exclusive, and what happens now is counted.
  const to = before(at, -1);
  const [accepted, dead] = await Promise.all([
    acceptedByHour(reads, { tenant_id, agent_ids, from: before(to, 2 * DAY_MS), to }),
    givenUpByHour(reads, { tenant_id, agent_ids, given_up_from: before(at, 2 * DAY_MS) }),
  ]);
  return { accepted, dead };
};

/** Returns the figures, and the unfinished deliveries by agent. */
export const readFigures = async (ctx: Ctx, { agent_ids, mayReadCosts }: Counted) => {
  const { reads, tenant: tenant_id } = ctx;
  const at = ctx.at();
  const to = before(at, -1);
  const seesDeliveries = agent_ids === undefined || agent_ids.length > 0;
  const [counts, open, costs] = await Promise.all([
    seesDeliveries ? reused(ctx, JSON.stringify([tenant_id, agent_ids ?? null]), () => countsOf(ctx, agent_ids, at)) : NONE,
    seesDeliveries ? openCounts(reads, { tenant_id, agent_ids, since: before(to, DAY_MS) }) : [],
    mayReadCosts ? costsByHour(reads, { tenant_id, from: before(to, 2 * DAY_MS), to }) : null,
  ]);
  const figures: Figures = {
    accepted: figureOf(counts.accepted),
    failed: figureOf(counts.dead),
    waiting: waitingOf(open),
    cost_usd: costs && figureOf(costs, usdOf),
  };
  return { figures, open };
};
