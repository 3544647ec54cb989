import { z } from 'zod';
import { checkOnce } from '../../commands/check-once.ts';
import { assertVisibleAgent, CronBlackoutImpactRequest } from '../../commands/schedule/blackout.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import * as Blackout from '../../domain/schedule/blackout.ts';
import { type ImpactBudget, impactOn, nextPeriod } from '../../domain/schedule/impact.ts';
import { startOf } from '../../domain/schedule/preview.ts';
import { blackouts } from '../../projections/schedule/blackout.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { visibleAgents } from '../agents/readable-agents.ts';
import { inBatches } from '../http/in-batches.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { MAX_PREVIEWED_JOBS, readPlanned } from './cron-occurrences.ts';
import { inSlices } from './in-slices.ts';

/** The maximum number of due times that one call examines, shared between the jobs. If there are more, the first ones are counted. */
const MAX_EXAMINED = 20_000;

/** How many agents of a draft are checked in parallel. */
const CHECKED_AT_ONCE = 50;

const Day = z.string().meta({ format: 'date', examples: ['2026-12-24'] });

const JobImpact = z.object({
  job_id: idOf('cron job'),
  job_name: z.string().meta({ description: 'The name of the job', examples: ['Weekly report'] }),
  agent_id: idOf('agent'),
  agent_name: z.string().meta({ description: 'The name of its agent', examples: ['Refund Assistant'] }),
  runs: z.int().meta({ description: 'How many runs the blackout would suppress', examples: [4] }),
  days: z
    .array(
      z.object({
        date: Day.meta({ description: 'A day of the blackout, in its time zone' }),
        runs: z.int().meta({ description: 'How many runs it would suppress on this day', examples: [1] }),
        due_at: z.array(Timestamp).meta({ description: 'The first due times of these runs, at most three' }),
      }),
    )
    .meta({ description: 'The days on which it would suppress runs' }),
  skipped_months: z.array(z.string().meta({ examples: ['2026-12'] })).meta({
    description: 'The calendar months of these days in which the job would then not run at all',
  }),
  next_due_at: Timestamp.nullable().meta({ description: 'When the job is due first after the blackout; null if never', examples: [null] }),
});

export const BlackoutImpact = z
  .object({
    first_day: Day.nullable().meta({
      description: 'The first day of the present or next period of the blackout, in its time zone; null if none follows',
    }),
    last_day: Day.nullable().meta({ description: 'The last day of this period; null if none follows' }),
    runs: z.int().meta({ description: 'How many runs would be suppressed in this period that would fire now', examples: [4] }),
    exact: z
      .boolean()
      .meta({ description: 'Whether all runs and jobs were counted. Otherwise, there can be more runs, jobs and skipped months' }),
    already_suppressed: z.int().meta({ description: 'How many runs in this period present blackouts suppress anyway', examples: [0] }),
    jobs: z.array(JobImpact).meta({ description: 'The jobs that the blackout would affect; those with most runs come first' }),
  })
  .meta({ id: 'BlackoutImpact' });

type Impact = z.output<typeof BlackoutImpact>;
type Draft = z.output<typeof CronBlackoutImpactRequest>;

/** Returns the ids of the agents of a draft whose jobs the caller may see; undefined for all agents. */
const agentsOf = async (ctx: Ctx, { agent_ids }: Draft): Promise<readonly string[] | undefined> =>
  agent_ids === null ? visibleAgents(ctx) : [...new Set(agent_ids)];

/** A calculation ends after this time, in milliseconds. */
const MAX_MS = 2_000;

/** Sets the budget of a calculation to 0 if it takes too long, so that it ends soon. */
const endAt = (endsAt: number, budget: ImpactBudget) => (now: number) => {
  if (now > endsAt) budget.left = 0;
};

const impactOf = async (ctx: Ctx, draft: Draft): Promise<Impact> => {
  const now = ctx.at();
  const period = nextPeriod(draft, now);
  const none = { runs: 0, exact: true, already_suppressed: 0, jobs: [] };
  if (period === null) return { first_day: null, last_day: null, ...none };
  const [first_day, last_day] = period;
  const from = startOf(first_day, -1);
  const examined = { from: from > now ? from : now, to: startOf(last_day, 2) };
  const { jobs: planned, blackouts, decided, isComplete } = await readPlanned(ctx, { agent_ids: await agentsOf(ctx, draft) }, examined);
  const found: (Impact['jobs'][number] & { readonly already: number; readonly isExact: boolean })[] = [];
  const endsAt = performance.now() + MAX_MS;
  let left = MAX_EXAMINED;
  for (const [index, job] of planned.entries()) {
    // What a job does not need of its share is left for those after it.
    const budget = { left: performance.now() > endsAt ? 0 : Math.floor(left / (planned.length - index)) };
    left -= budget.left;
    const impact = await inSlices(impactOn(job, { days: draft, period, now, blackouts, decided, budget }), endAt(endsAt, budget));
    left += Math.max(0, budget.left);
    const { state } = await ctx.load(Agent, job.agent_id);
    const names = { job_id: job.id, job_name: job.name, agent_id: job.agent_id, agent_name: state.name };
    const days = impact.days.map((day) => ({ ...day, due_at: [...day.due_at] }));
    found.push({ ...names, ...impact, days, skipped_months: [...impact.skipped_months] });
  }
  const jobs = found
    .filter(({ runs, isExact }) => runs > 0 || !isExact)
    .sort((one, other) => other.runs - one.runs || (one.job_name < other.job_name ? -1 : 1))
    .map((job) => omit(job, 'already', 'isExact'));
  return {
    first_day,
    last_day,
    runs: jobs.reduce((sum, { runs }) => sum + runs, 0),
    exact: isComplete && found.every(({ isExact }) => isExact),
    already_suppressed: found.reduce((sum, { already }) => sum + already, 0),
    jobs,
  };
};

export const blackoutImpactOperations = {
  previewBlackoutImpact: operation({
    method: 'post',
    path: '/tenant/:tenant_id/cron-blackouts/impact',
    summary: 'Count what a blackout would suppress',
    details: `Counts the runs of each job and day in the present or next period of the blackout, as things are now. Examines the newest ${MAX_PREVIEWED_JOBS} active jobs, and at most ${MAX_EXAMINED} due times, for at most ${MAX_MS / 1_000} seconds. Without jobs of agents that the caller may not see. Declares nothing.`,
    permit: 'tenant:read',
    body: CronBlackoutImpactRequest,
    reply: BlackoutImpact,
    readsOnly: true,
    projection: cronJobs.name,
    otherProjections: [blackouts.name],
    noETag: true,
    run: async (ctx, { tenant_id, ...draft }) => {
      Blackout.assertOrdered(draft);
      await checkOnce(ctx, async () => {
        const given = [...(draft.agent_ids ?? []).entries()];
        await inBatches(given, CHECKED_AT_ONCE, ([n, agent_id]) => assertVisibleAgent(ctx, agent_id, `/agent_ids/${n}`));
      });
      return { id: tenant_id, revision: -1, position: null, state: await impactOf(ctx, draft) };
    },
  }),
};
