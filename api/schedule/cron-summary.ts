import { z } from 'zod';
import { TimeZone } from '../../commands/schedule/cron-job-fields.ts';
import { integer } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import { DECISIONS } from '../../domain/schedule/cron-run.ts';
import { instantOf, localTimeOf } from '../../domain/time-zone.ts';
import { type CursorKey, readCursorKey, writeCursor } from '../../projections/cursor.ts';
import { blackouts } from '../../projections/schedule/blackout.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { operation } from '../http/operation.ts';
import { Decimal } from '../http/paging.ts';
import { COUNT_LIMITS, countPage, type Days } from './cron-counts.ts';
import { listedAgents } from './cron-occurrences.ts';
import { CronOccurrenceSummary } from './cron-summary-fields.ts';

const DEFAULT_DAYS = 7;
const MAX_DAYS = 62;

const [FIRST_DATE, LAST_DATE] = ['1000-01-01', '9998-12-31'];

const Day = z.iso
  .date('must be a date such as 2026-12-24')
  .refine((date) => FIRST_DATE <= date && date <= LAST_DATE, `must be from ${FIRST_DATE} to ${LAST_DATE}`);

const SummaryQuery = z.strictObject({
  first_day: Day.optional().meta({ description: 'The first day of the period; by default, today', examples: ['2026-12-01'] }),
  last_day: Day.optional().meta({
    description: `The last day of the period, which belongs to it; by default, the period has ${DEFAULT_DAYS} days`,
    examples: ['2026-12-31'],
  }),
  timezone: TimeZone.default('UTC').meta({ description: 'The time zone of the days', examples: ['Europe/Berlin'] }),
  agent_id: Id25.optional().meta({ description: 'Only jobs of this agent' }),
  job_id: Id25.optional().meta({ description: 'Only this job' }),
  decision: z.enum(DECISIONS).optional().meta({ description: 'Only occurrences with this decision' }),
  limit: Decimal(integer(1, 200).default(100)).meta({ description: 'How many jobs the page may have' }),
  cursor: z
    .string()
    .max(4_000)
    .optional()
    .meta({ description: 'Where the page starts; take it from the `Link` header of the previous page' }),
});

type Asked = z.output<typeof SummaryQuery>;

const daysAfter = (date: string, days: number): string => Temporal.PlainDate.from(date).add({ days }).toString();

/** @throws Refusal invalid if the period is empty or too long */
const daysOf = (now: string, { first_day, last_day, timezone }: Pick<Asked, 'first_day' | 'last_day' | 'timezone'>): Days => {
  const first = first_day ?? localTimeOf(now, timezone).slice(0, 10);
  const last = last_day ?? daysAfter(first, DEFAULT_DAYS - 1);
  if (last < first) throw invalid('/query/last_day', 'must not be before `first_day`');
  if (daysAfter(first, MAX_DAYS) <= last)
    throw invalid('/query/last_day', `must be at most ${MAX_DAYS - 1} days after the first`, 'too_long');
  const dates = [first];
  while (dates.at(-1)! < last) dates.push(daysAfter(dates.at(-1)!, 1));
  const bounds = [...dates, daysAfter(last, 1)].map((date) => Date.parse(instantOf(`${date}T00:00:00`, timezone)));
  return { dates, bounds };
};

/**
 * Returns the first day of the first page, so that the period stays the same after midnight, and the job after which the
 * page starts. Both are in the cursor. @throws Refusal invalid at /query/cursor if it is malformed
 */
const readStart = (cursor: string | undefined): readonly [first_day: string | undefined, after: CursorKey | null] => {
  const key = readCursorKey(cursor, 'text', null);
  if (key === null) return [undefined, null];
  const [value, id] = key;
  const first = String(value).slice(0, 10);
  if (typeof value !== 'string' || value[10] !== ' ' || !Day.safeParse(first).success)
    throw invalid('/query/cursor', 'This is not a cursor that a page returned.');
  return [first, [value.slice(11), id]];
};

export const cronSummaryOperations = {
  summarizeCronOccurrences: operation({
    method: 'get',
    path: '/tenant/:tenant_id/cron-occurrences/summary',
    summary: 'Count the occurrences of cron jobs by day',
    details: `Counts the occurrences of each job by day and decision, for at most ${MAX_DAYS} days: the recorded ones, and those that follow from the present jobs, agents and blackouts. The jobs are in the order of their names; those without occurrences in the period are left out, and those of agents that the caller may not see. A page always has whole jobs. It ends early, and can be empty, after ${COUNT_LIMITS.ms / 1_000} seconds; the next page continues.`,
    permit: 'tenant:read',
    query: SummaryQuery,
    reply: z.array(CronOccurrenceSummary),
    projection: cronJobs.name,
    otherProjections: [blackouts.name],
    noETag: true,
    run: async (ctx, { tenant_id, ...asked }) => {
      const { agent_id, job_id, decision, limit, cursor } = asked;
      const [start, after] = readStart(cursor);
      const days = daysOf(ctx.at(), { ...asked, first_day: asked.first_day ?? start });
      const agent_ids = await listedAgents(ctx, agent_id);
      const { found, next } = await countPage(ctx, { ...days, tenant_id, agent_ids, job_id, decision, limit }, after);
      return { body: JSON.stringify(found), next: next && writeCursor([`${days.dates[0]} ${next[0]}`, next[1]], null) };
    },
  }),
};
