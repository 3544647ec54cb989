import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';

export const HOURS = 24;

const Figure = z
  .object({
    value: z.number().meta({ description: 'How much it was in the last 24 hours', examples: [64] }),
    previous: z
      .number()
      .nullable()
      .meta({ description: 'How much it was in the 24 hours before; null if this is not known', examples: [12] }),
    buckets: z
      .array(z.number())
      .length(HOURS)
      .meta({
        description: 'How much it was in each of the last 24 hours, the earliest first',
        examples: [[...Array(HOURS - 1).fill(0), 64]],
      }),
  })
  .meta({ id: 'OverviewFigure' });

const Waiting = Figure.extend({
  value: z
    .int()
    .meta({ description: 'How many deliveries are neither acknowledged nor given up, whenever they were received', examples: [3] }),
  previous: z.null().meta({ description: 'Always null: how many waited earlier is not stored' }),
  buckets: z
    .array(z.int())
    .length(HOURS)
    .meta({ description: 'How many of them were received in each of the last 24 hours', examples: [[...Array(HOURS - 1).fill(0), 3]] }),
  oldest_at: Timestamp.nullable().meta({ description: 'When the oldest of them was received; null if none waits' }),
}).meta({ id: 'OverviewWaiting' });

export const SEVERITIES = ['error', 'warning', 'info'] as const;

export const ATTENTION_KINDS = [
  'deliveries_dead',
  'approval_open',
  'budget_spent',
  'runner_missing',
  'runner_failing',
  'deliveries_blocked',
  'integration_silent',
  'cron_missed',
  'budget_near',
  'deliveries_held',
  'api_key_expiring',
  'secret_overlap',
] as const;

export const SUBJECT_TYPES = ['agent', 'integration', 'cron_job', 'api_key', 'session'] as const;

export const Attention = z
  .object({
    kind: z.enum(ATTENTION_KINDS).meta({
      description:
        '`deliveries_dead`: given up in the last 24 hours, whenever they were received; `approval_open`: an agent waits for a decision; `budget_spent`, `budget_near`: all, or 80 % of the hourly budget is used; `runner_missing`: deliveries wait, and no runner is connected; `runner_failing`: deliveries fail and are tried again; `deliveries_blocked`: blocked more often than usual; `integration_silent`: in use, but without a delivery for 24 hours; `cron_missed`: runs that were due while the platform was down; `deliveries_held`: held by a rule; `api_key_expiring`: expires within 7 days, or expired within 24 hours; `secret_overlap`: the previous secret is still accepted',
    }),
    severity: z.enum(SEVERITIES).meta({
      description: '`error`: something is lost if no one acts; `warning`: something does not work; `info`: to be known',
    }),
    count: z.int().meta({
      description: 'How many deliveries or runs it is about; for a budget, how many it holds; 1 for an integration, a key or an approval',
      examples: [64],
    }),
    since: Timestamp.nullable().meta({
      description: 'Since when it is so: when the first of them was received, given up or due; null if this is not known',
    }),
    subject: z
      .object({
        type: z.enum(SUBJECT_TYPES).meta({ description: 'What it is' }),
        id: z.string().meta({ description: 'The id of the resource', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
        name: z
          .string()
          .meta({ description: 'The name of the resource; for a session, the name of its agent', examples: ['Refund Assistant'] }),
      })
      .meta({ description: 'The resource where the cause is' }),
    agent_id: idOf('agent').nullable().meta({ description: 'The agent that it is about; null if it is about none' }),
    reason: z
      .string()
      .nullable()
      .meta({
        description: 'Why it is so, in words: those of the runner, the rule or the agent; null if the kind says it all',
        examples: ['The dispute API answered 502'],
      }),
    code: z
      .string()
      .nullable()
      .meta({ description: 'Of deliveries: the `reason` by which they can be listed; otherwise null', examples: ['max_deliveries'] }),
    problem: z
      .string()
      .nullable()
      .meta({
        description: 'Of deliveries that were given up: the `problem` by which they can be listed; null without a report, and otherwise',
        examples: ['3f9a1c0e77d2b845'],
      }),
    until: Timestamp.nullable().meta({
      description: 'When it ends by itself; null if it does not, or if this is not known',
      examples: [null],
    }),
    example_id: idOf('delivery')
      .nullable()
      .meta({ description: 'The newest or, of held ones, the oldest of the deliveries; the message of an approval; otherwise null' }),
  })
  .meta({ id: 'OverviewAttention' });
export type Attention = z.output<typeof Attention>;

export const MAX_ATTENTION = 20;

export const Overview = z
  .object({
    at: Timestamp.meta({ description: 'When it was checked' }),
    figures: z
      .object({
        accepted: Figure.meta({ description: 'The deliveries that were accepted, without those that were given up' }),
        failed: Figure.meta({
          description: 'The deliveries that were given up, by the time at which this happened, whenever they were received',
        }),
        waiting: Waiting.meta({ description: 'The deliveries that are not finished' }),
        cost_usd: Figure.nullable().meta({
          description: 'What the use of models has cost, in US dollars; null without the permission `tenant:billing:read`',
        }),
      })
      .meta({ description: 'The figures of the last 24 hours' }),
    attention: z.array(Attention).meta({ description: `What needs attention, the most severe first; at most ${MAX_ATTENTION}` }),
    attention_count: z.int().meta({
      description: 'How many things need attention, at least: also those that are left out, but at most 20 of most kinds',
      examples: [1],
    }),
    is_started: z.boolean().meta({ description: 'Whether a runner has acknowledged one of the newest 1,000 deliveries', examples: [true] }),
  })
  .meta({ id: 'Overview' });
