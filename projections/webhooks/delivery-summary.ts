import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { LastFailure } from './delivery-reports.ts';

export const GROUPS = ['agent_id', 'integration_id', 'provider', 'event', 'reason', 'matched_secret'] as const;

const Outcomes = z
  .object({
    accepted: z.int().meta({ description: 'How many were accepted, without those that were given up', examples: [1204] }),
    blocked: z.int().meta({ description: 'How many were blocked', examples: [3] }),
    rejected: z.int().meta({ description: 'How many were rejected', examples: [1] }),
    dead: z.int().meta({ description: 'How many were given up', examples: [0] }),
  })
  .meta({ id: 'DeliveryOutcomes' });
export type Outcomes = z.output<typeof Outcomes>;

const COUNTS = { description: 'How many deliveries have each outcome' } as const;

export const DeliverySummary = z
  .object({
    outcomes: Outcomes.meta(COUNTS),
    groups: z
      .array(
        z.object({
          key: z
            .string()
            .nullable()
            .meta({ description: 'The value of the field `group_by`; null if they have none', examples: ['push'] }),
          outcomes: Outcomes.meta(COUNTS),
        }),
      )
      .meta({ description: 'The largest groups, at most 100; empty without `group_by`' }),
    buckets: z
      .array(
        z.object({
          from: Timestamp.meta({ description: 'The start of the bucket, inclusive' }),
          to: Timestamp.meta({ description: 'The end of the bucket, exclusive' }),
          outcomes: Outcomes.meta(COUNTS),
        }),
      )
      .meta({ description: 'Equal parts of the time from `from` to `to`; empty without `buckets`' }),
  })
  .meta({ id: 'DeliverySummary' });

export const DeliveryProblem = z
  .object({
    fingerprint: z.string().meta({
      description: 'Identifies the outcome, reason and integration that the deliveries have in common',
      examples: ['b1946ac92492d234'],
    }),
    outcome: z.enum(['rejected', 'dead']).meta({ description: '`rejected`: not verified; `dead`: given up' }),
    reason: z
      .string()
      .nullable()
      .meta({ description: 'Why they were rejected or given up', examples: ['bad_signature'] }),
    integration_id: idOf(
      'webhook integration',
      'The id of the webhook integration, of the skill whose webhook was called, of the cron job, or of the benchmark',
    ),
    count: z.int().meta({ description: 'How many deliveries there are', examples: [12] }),
    first_at: Timestamp.meta({ description: 'When the first of them was received' }),
    last_at: Timestamp.meta({ description: 'When the last of them was received' }),
    example_id: idOf('delivery', 'The last of them'),
    example_failure: LastFailure.nullable().meta({
      description: 'The last failed attempt of the delivery `example_id` that a runner has reported; null without a report',
    }),
  })
  .meta({ id: 'DeliveryProblem' });
