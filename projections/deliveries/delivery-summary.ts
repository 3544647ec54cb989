import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { LastFailure } from './delivery-reports.ts';
import { shownFields } from './delivery-shown.ts';
import { type DeliveryState, STATES } from './delivery-states.ts';

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

const StateCounts = z
  .object(
    Object.fromEntries(STATES.map((state) => [state, z.int().meta({ description: `How many are ${state}`, examples: [3] })])) as Readonly<
      Record<DeliveryState, z.ZodInt>
    >,
  )
  .meta({ id: 'DeliveryStateCounts' });

export const DeliverySummary = z
  .object({
    outcomes: Outcomes.meta(COUNTS),
    states: StateCounts.nullable().meta({
      description: 'How many deliveries are in each state; null without `by_state`',
      examples: [null],
    }),
    replayable: z
      .object({
        all: z.int().meta({ description: 'How many can be sent again: accepted and dead ones that no rule holds or has held too long' }),
        dead: z.int().meta({ description: 'How many of them are dead' }),
      })
      .nullable()
      .meta({ description: 'How many deliveries can be sent again; null without `by_state`', examples: [null] }),
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
      description: 'Identifies what the deliveries have in common',
      examples: ['b1946ac92492d234'],
    }),
    outcome: z
      .enum(['rejected', 'dead', 'blocked'])
      .meta({ description: '`rejected`: not verified; `dead`: given up; `blocked`: stopped by a rule or check' }),
    reason: z
      .string()
      .nullable()
      .meta({
        description: 'Why they were rejected, blocked or given up; null if the deliveries differ in it',
        examples: ['bad_signature'],
      }),
    rule: z
      .string()
      .nullable()
      .meta({ description: 'The rule or check that has blocked them; otherwise null', examples: [null] }),
    problem: z
      .string()
      .nullable()
      .meta({ description: 'The `problem` of the dead deliveries; null without a report of a runner', examples: ['b1946ac92492d234'] }),
    agent_id: z
      .string()
      .nullable()
      .meta({ description: 'The agent of all of them; null if there are several', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    agent_name: shownFields.agent_name,
    integration_id: z
      .string()
      .nullable()
      .meta({
        description:
          'The id of the webhook integration, of the skill whose webhook was called, of the cron job, or of the benchmark; null if there are several',
        examples: ['c8kq3n5m7p2r4t6v8x0z1b3d5'],
      }),
    integration_label: shownFields.integration_label,
    count: z.int().meta({ description: 'How many deliveries there are', examples: [12] }),
    trend: z
      .array(z.int())
      .nullable()
      .meta({
        description: 'How many there were in each of the last 24 hours, the earliest first; null without `trend`',
        examples: [null],
      }),
    share: z.number().meta({ description: 'Their share of all deliveries of the period, from 0 to 1', examples: [0.029] }),
    first_at: Timestamp.meta({ description: 'When the first of them was received' }),
    last_at: Timestamp.meta({ description: 'When the last of them was received' }),
    example_id: idOf('delivery', 'The last of them'),
    example_failure: LastFailure.nullable().meta({
      description: 'The last failed attempt of the delivery `example_id` that a runner has reported; null without a report',
    }),
  })
  .meta({ id: 'DeliveryProblem' });
