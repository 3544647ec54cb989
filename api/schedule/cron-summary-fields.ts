import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { JOB_STATUSES } from '../../domain/schedule/cron-job.ts';
import { DECISIONS, SUPPRESSION_REASONS } from '../../domain/schedule/cron-run.ts';
import { MAX_LISTED } from '../../domain/schedule/impact.ts';
import { MAX_OCCURRENCES } from '../../projections/schedule/cron-occurrence.queries.ts';
import { MAX_COUNTED } from '../../projections/schedule/cron-summary.queries.ts';

const COUNTS = {
  due: z.int().meta({ description: 'How many occurrences there are', examples: [4] }),
  fired: z.int().meta({ description: 'How many have fired', examples: [1] }),
  planned: z.int().meta({ description: 'How many will probably fire: these decisions are not made yet', examples: [2] }),
  suppressed: z.int().meta({ description: 'How many are suppressed, or would be in the present state', examples: [1] }),
  suppressed_by_blackout: z.int().meta({ description: 'How many of these a blackout suppresses', examples: [1] }),
  missed: z.int().meta({ description: 'How many are missed, or are due for too long to fire', examples: [0] }),
  skipped: z.int().meta({ description: 'How many a person has skipped', examples: [0] }),
};

const SummaryDay = z.object({
  date: z.string().meta({ format: 'date', description: 'A day, in the given time zone', examples: ['2026-12-24'] }),
  ...COUNTS,
  first_due_at: Timestamp.meta({ description: 'When the first occurrence of the day is due' }),
  occurrences: z
    .array(
      z.object({
        due_at: Timestamp.meta({ description: 'When it is due' }),
        decision: z.enum(DECISIONS).meta({ description: 'Whether the job fired' }),
        reason: z
          .enum(SUPPRESSION_REASONS)
          .nullable()
          .meta({ description: 'Why it is suppressed', examples: [null] }),
        predicted: z.boolean().meta({ description: 'Whether the decision is not made yet', examples: [true] }),
      }),
    )
    .meta({ description: `The occurrences of the day, if there are at most ${MAX_LISTED}; otherwise none` }),
});

export const CronOccurrenceSummary = z
  .object({
    job_id: idOf('cron job'),
    job_name: z.string().meta({ description: 'The present name of the job', examples: ['Weekly report'] }),
    job_status: z.enum(JOB_STATUSES).meta({ description: 'The present status of the job; `archived`: it is deleted' }),
    agent_id: idOf('agent'),
    agent_name: z.string().meta({ description: 'The name of its agent', examples: ['Refund Assistant'] }),
    ...COUNTS,
    exact: z.boolean().meta({
      description: `Whether the counts are exact. They can be too high if more than ${MAX_OCCURRENCES} occurrences of the job were skipped in advance, and too low if it has more than ${MAX_COUNTED} recorded ones`,
    }),
    days: z.array(SummaryDay).meta({ description: 'The days on which the job is due' }),
  })
  .meta({ id: 'CronOccurrenceSummary' });

export type Summary = z.output<typeof CronOccurrenceSummary>;
