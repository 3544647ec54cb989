import { z } from 'zod';
import { checkOnce } from '../../commands/check-once.ts';
import { assertDraft, loadCronJob } from '../../commands/schedule/cron-job.ts';
import { CronJobDraft } from '../../commands/schedule/cron-job-fields.ts';
import { Timestamp } from '../../domain/fields.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import { type PreviewOptions, preview } from '../../domain/schedule/preview.ts';
import type { Recurrence } from '../../domain/schedule/recurrence.ts';
import { blackoutsOf } from '../../projections/schedule/blackout.queries.ts';
import { blackouts } from '../../projections/schedule/blackout.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { decidedOf } from '../../projections/schedule/cron-occurrence.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { CRON_JOBS } from './cron-job.ts';
import { isInactive } from './cron-occurrences.ts';

const PREVIEW_LENGTH = 20;

export const CronPreview = z
  .object({
    due_at: Timestamp.meta({ description: 'When the job is due' }),
    local_time: z
      .string()
      .nullable()
      .meta({
        description:
          'The local time of the schedule, in its time zone; null if it has none. If clocks skip it, the job is due at the moment of the skip',
        examples: ['2126-03-14T09:00:00'],
      }),
    decision: z.enum(['fired', 'suppressed']).meta({ description: 'Whether it fires, as things are now' }),
    reason: z
      .enum(['blackout', 'agent_inactive'])
      .nullable()
      .meta({ description: 'Why it does not fire', examples: [null] }),
    blackout_id: z
      .string()
      .nullable()
      .meta({ description: 'The blackout that suppresses it', examples: [null] }),
  })
  .meta({ id: 'CronPreview' });

const nextOf = async (ctx: Ctx, recurrence: Recurrence, { agent_id, after, job }: Pick<PreviewOptions, 'agent_id' | 'after' | 'job'>) => {
  const options = { agent_id, blackouts: await blackoutsOf(ctx.reads, ctx.tenant), after, limit: PREVIEW_LENGTH };
  return preview(recurrence, job ? { ...options, job } : options);
};

/** Returns the next occurrences of a job from the first undecided one on; none if it is paused or has ended. */
const nextOfJob = async (ctx: Ctx, { id, agent_id }: { readonly id: string; readonly agent_id: string }, state: CronJob.CronJob) => {
  const { status, next_fire_at, scheduled_at } = state;
  if (status !== 'active' || next_fire_at === null) return [];
  // `next_fire_at` of the state is that of the last change of the schedule: decisions do not move it.
  const after = new Date(Math.max(Date.parse(next_fire_at), Date.parse(ctx.at()) - CronRun.MAX_LATENESS_MS) - 1).toISOString();
  const decided = await decidedOf(ctx.reads, ctx.tenant, id, after);
  const job = { id, decided, now: ctx.at(), isInactive: await isInactive(ctx, state) };
  return nextOf(ctx, CronJob.recurrenceOf(state, scheduled_at, ctx.checks.parseCron), { agent_id, after, job });
};

const details = `The next ${PREVIEW_LENGTH} times at which the job is due, with those that a blackout suppresses.`;

export const cronPreviewOperations = {
  previewCronJob: operation({
    method: 'get',
    path: `${CRON_JOBS}/:id/preview`,
    summary: 'Preview the next runs of a cron job',
    details: `${details} Without those whose decisions are recorded, such as skipped ones. A paused job is not due.`,
    permit: 'agent:read',
    reply: z.array(CronPreview),
    projection: cronJobs.name,
    otherProjections: [blackouts.name],
    noETag: true,
    run: async (ctx, ref) => {
      const { state } = await loadCronJob(ctx, ref);
      return { body: JSON.stringify(await nextOfJob(ctx, ref, state)), next: null };
    },
  }),
  previewCronDraft: operation({
    method: 'post',
    path: `${CRON_JOBS}/preview`,
    summary: 'Preview the runs of a draft of a cron job',
    details: `${details} The draft needs only a schedule. Creates nothing.`,
    permit: 'agent:read',
    body: CronJobDraft,
    reply: z.array(CronPreview),
    readsOnly: true,
    projection: blackouts.name,
    noETag: true,
    run: async (ctx, { tenant_id, after, ...draft }) => {
      await checkOnce(ctx, () => assertDraft(ctx, draft));
      const recurrence = CronJob.recurrenceOf(draft, ctx.at(), ctx.checks.parseCron);
      const state = await ctx.sideEffect(() => nextOf(ctx, recurrence, { agent_id: draft.agent_id, after: after ?? ctx.at() }));
      return { id: tenant_id, revision: -1, position: null, state };
    },
  }),
};
