import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import * as Agent from '../../domain/agents/agent.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import { budgetUsage } from '../../domain/billing/budget-usage.ts';
import type { Recorded } from '../../domain/event.ts';
import { EventId, Instant, Timestamp } from '../../domain/fields.ts';
import { microsOf, Usd, usdOf } from '../../domain/money.ts';
import { invalid } from '../../domain/refusal.ts';
import { inBatches } from '../http/in-batches.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';

const HOUR_MS = 3_600_000;
const DEFAULT_HOURS = 24;
const MAX_HOURS = 168;
/** The number of streams of budget hours (the spending of an agent in one hour) that are read in parallel. */
const READ_AT_ONCE = 16;

const usd = (description: string, example: number) => z.number().meta({ description, examples: [example] });
const nullableUsd = (description: string, example: number) =>
  z
    .number()
    .nullable()
    .meta({ description, examples: [example] });

const BudgetHourRead = z
  .object({
    hour: Timestamp.meta({ description: 'The start of the hour (UTC)', examples: ['2026-03-14T09:00:00.000Z'] }),
    limit_usd: nullableUsd('The limit at the end of the hour, or `limit_usd` of the query; null if there was none', 5),
    reserved_usd: usd('The amounts of the reservations that were granted', 4.5),
    settled_usd: usd('The amounts with which they were settled', 3.2),
    open_usd: usd('What reservations hold that are neither settled nor expired, at the end of the hour or now', 0),
    sessions_usd: usd('What the messages of sessions cost beyond the settlements of these sessions', 0),
    left_usd: nullableUsd(
      'What is left at the end of the hour, or now: the limit less open reservations, settlements and sessions; null without a limit',
      1.8,
    ),
    refused: z.int().meta({ description: 'How many reservations were refused; at most 100 an hour are recorded', examples: [2] }),
    refused_sessions: z.int().meta({
      description:
        'How many sessions were not started because the budget was spent; at most 100 an hour are recorded. With `limit_usd`, only these are decided again',
      examples: [0],
    }),
    refused_reservation_id: z
      .string()
      .nullable()
      .meta({ description: 'The id of the first refused reservation; null if none was refused, or its id is not known', examples: [null] }),
    refused_event_id: EventId.nullable().meta({
      description: 'The id of the event in which the first refused reservation was requested; null if none was refused',
      examples: [null],
    }),
  })
  .meta({ id: 'BudgetHour' });

/** A schema for an amount in dollars as decimal digits. */
const LimitUsd = z
  .preprocess((text) => (typeof text === 'string' && /^\d+(\.\d+)?$/.test(text) ? Number(text) : text), Usd)
  .optional()
  .meta({ description: 'Decides each reservation again by this hourly limit in US dollars', examples: [5] });

const UsageQuery = z.strictObject({
  from: Instant.optional().meta({ description: 'The first hour is that of this time; by default, 24 hours before the end' }),
  to: Instant.optional().meta({ description: 'The last hour starts before this time; by default, the present hour' }),
  limit_usd: LimitUsd,
});

const startOfHour = (at: string): number => Math.floor(Date.parse(at) / HOUR_MS) * HOUR_MS;

/**
 * Returns the start times of the hours in the requested period.
 * @throws Refusal invalid if the period is empty, or longer than 168 hours
 */
const hoursOf = (now: string, { from, to = now }: { readonly from?: string | undefined; readonly to?: string | undefined }): string[] => {
  const last = to > now ? now : to;
  const end = startOfHour(last) === Date.parse(last) && last !== now ? Date.parse(last) : startOfHour(last) + HOUR_MS;
  const start = from === undefined ? end - DEFAULT_HOURS * HOUR_MS : startOfHour(from);
  if (from !== undefined && from >= to) throw invalid('/query/to', 'must be after `from`');
  if (end - start > MAX_HOURS * HOUR_MS) throw invalid('/query/from', `must be at most ${MAX_HOURS} hours before the end`, 'too_long');
  const count = Math.max(0, (end - start) / HOUR_MS);
  return Array.from({ length: count }, (_, index) => new Date(start + index * HOUR_MS).toISOString());
};

type Limits = { at: string; limit: number | null }[];

/**
 * Returns the hourly limits of an agent in micro-dollars, the oldest first. A limit applies from its time `at` on. For
 * the current hour alone, which runners read all the time, the current limit is enough.
 */
const limitsOf = async (ctx: Ctx, agent_id: string, hours: readonly string[]): Promise<Limits> => {
  if (hours.every((hour) => BudgetHour.hourEnd(hour) > ctx.at()))
    return [{ at: '', limit: (await ctx.load(Agent, agent_id)).state.hourly_limit_micros }];
  const limits: Limits = [];
  let state = Agent.initial;
  for await (const event of ctx.log.history(Agent, agent_id)) {
    state = Agent.evolve(state, event);
    if (limits.at(-1)?.limit !== state.hourly_limit_micros) limits.push({ at: event.at, limit: state.hourly_limit_micros });
  }
  return limits;
};

const eventsOf = async (ctx: Ctx, agent_id: string, hour: string): Promise<Recorded<BudgetHour.BudgetEvent>[]> => {
  const events: Recorded<BudgetHour.BudgetEvent>[] = [];
  for await (const event of ctx.log.history(BudgetHour, BudgetHour.budgetHourId(agent_id, hour))) events.push(event);
  return events;
};

type Wanted = { readonly agent_id: string; readonly hours: readonly string[]; readonly limit: number | undefined };

const usageOfHours = async (ctx: Ctx, { agent_id, hours, limit }: Wanted): Promise<z.output<typeof BudgetHourRead>[]> => {
  const limits = await limitsOf(ctx, agent_id, hours);
  const usageOf = async (hour: string) => {
    const end = BudgetHour.hourEnd(hour);
    const applied = limit ?? limits.findLast(({ at }) => at < end)?.limit ?? null;
    const used = budgetUsage(await eventsOf(ctx, agent_id, hour), ctx.at(), limit);
    const { open, settled, sessions } = used.commitment;
    return {
      hour,
      limit_usd: applied === null ? null : usdOf(applied),
      reserved_usd: usdOf(used.reserved),
      settled_usd: usdOf(settled),
      open_usd: usdOf(open),
      sessions_usd: usdOf(sessions),
      left_usd: applied === null ? null : usdOf(Math.max(0, applied - open - settled - sessions)),
      refused: used.refused,
      refused_sessions: used.refused_sessions,
      refused_reservation_id: used.refused_reservation_id,
      refused_event_id: used.refused_event_id,
    };
  };
  return inBatches(hours, READ_AT_ONCE, usageOf);
};

export const budgetUsageOperations = {
  readBudgetUsage: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/:agent_id/budget/usage',
    summary: "Read the use of an agent's hourly budget",
    details:
      'One item for each hour (UTC), the oldest first; at most 168 hours. With `limit_usd`, each reservation is decided again in the order in which it was asked for; one that had been refused then counts until the hour ends.',
    permit: { all: ['agent:read'], runner: true },
    query: UsageQuery,
    reply: z.array(BudgetHourRead),
    noETag: true,
    run: async (ctx, { agent_id, limit_usd, ...period }) => {
      const { position } = await loadAgent(ctx, agent_id);
      const hours = hoursOf(ctx.at(), period);
      const limit = limit_usd === undefined ? undefined : microsOf(limit_usd);
      return { body: JSON.stringify(await usageOfHours(ctx, { agent_id, hours, limit })), next: null, position };
    },
  }),
};
