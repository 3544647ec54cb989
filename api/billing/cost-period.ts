import { z } from 'zod';
import type { UsageRow } from '../../domain/billing/agent-costs.ts';
import { addDays } from '../../domain/billing/anomaly.ts';
import { Instant, Timestamp } from '../../domain/fields.ts';
import { invalid } from '../../domain/refusal.ts';
import { usageOfDays, usageOfMessages } from '../../projections/billing/cost.queries.ts';
import type { Ctx } from '../http/operation.ts';

export const CostPeriod = z
  .object({
    start: Timestamp.meta({ description: 'The start of the period, inclusive', examples: ['2026-03-01T00:00:00.000Z'] }),
    end: Timestamp.meta({ description: 'The end of the period, exclusive', examples: ['2026-04-01T00:00:00.000Z'] }),
  })
  .meta({ id: 'CostPeriod' });

/** A schema for the query parameters that select the period of costs. */
export const PeriodQuery = z.strictObject({
  start: Instant.optional().meta({ description: 'The start of the period; by default, that of the month of its end' }),
  end: Instant.optional().meta({
    description: 'The end of the period, exclusive; by default, that of the present month, or of a later one in which it starts',
  }),
});

export type Period = z.output<typeof CostPeriod>;

const DAY_MS = 86_400_000;
const MAX_DAYS = 400;

/**
 * Returns the start of the month that contains the time `at`, or of the month that is `later` months after it. Months
 * are in UTC.
 */
const monthOf = (at: number, later = 0): string => {
  const date = new Date(at);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later)).toISOString();
};

/**
 * Returns the period of a request, and supplies defaults for a missing start or end.
 * @throws Refusal invalid if the period is empty, or longer than 400 days
 */
export const periodOf = (at: string, query: { readonly start?: string | undefined; readonly end?: string | undefined }): Period => {
  const { start: wanted = at } = query;
  const end = query.end ?? monthOf(Date.parse(wanted > at ? wanted : at), 1);
  const start = query.start ?? monthOf(Date.parse(end) - 1);
  if (start >= end) throw invalid('/query/end', 'must be after the start');
  if (Date.parse(end) - Date.parse(start) > MAX_DAYS * DAY_MS)
    throw invalid('/query/start', `must be at most ${MAX_DAYS} days before the end`, 'too_long');
  return { start, end };
};

/** Returns the day (YYYY-MM-DD, UTC) of a time. */
export const dayOf = (at: string): string => at.slice(0, 'YYYY-MM-DD'.length);
export const startOf = (day: string): string => `${day}T00:00:00.000Z`;
/** Returns the first day that starts at this time or later. */
export const nextDay = (at: string): string => (startOf(dayOf(at)) === at ? dayOf(at) : addDays(dayOf(at), 1));

/**
 * Returns the usage in the period. The usage of whole days is stored per day. For a day that is only partly in the
 * period, the usage of its messages is used.
 */
export const usageOf = async ({ reads, tenant: tenant_id }: Ctx, { start, end }: Period): Promise<UsageRow[]> => {
  const [first, last] = [nextDay(start), dayOf(end)];
  if (first > last) return usageOfMessages(reads, { tenant_id, from: start, to: end });
  const [beginning, middle, ending] = await Promise.all([
    start < startOf(first) ? usageOfMessages(reads, { tenant_id, from: start, to: startOf(first) }) : [],
    first < last ? usageOfDays(reads, { tenant_id, from: first, to: last }) : [],
    startOf(last) < end ? usageOfMessages(reads, { tenant_id, from: startOf(last), to: end }) : [],
  ]);
  return [...beginning, ...middle, ...ending];
};
