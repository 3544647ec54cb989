import { z } from 'zod';
import { displayText, Instant, integer, PlainInstant } from '../../domain/fields.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { isTimeZone } from '../../domain/time-zone.ts';

/** The body of a request in base64: 256 KiB of bytes. */
const MAX_BODY_CHARACTERS = 349_528;
const MAX_TARGET = 2_048;

const isStartTime = (value: string): boolean => CronJob.isLocalTime(value) || PlainInstant.safeParse(value.toUpperCase()).success;

export const TimeZone = displayText(1, 64).refine(isTimeZone, 'must be the name of a time zone such as Europe/Berlin');

const fields = {
  name: displayText(1, 128),
  target: displayText(1, MAX_TARGET),
  body_bytes: z.base64('must be base64').max(MAX_BODY_CHARACTERS, `must have at most ${MAX_BODY_CHARACTERS} characters`),
  cron_expr: displayText(1, 128),
  headers: z.record(z.string(), z.string()),
  interval_minutes: integer(1, 525_960),
  max_retries: integer(0, 10),
  method: z.enum(CronJob.METHODS),
  retry_backoff: z.enum(CronJob.BACKOFFS),
  schedule_type: z.enum(CronJob.SCHEDULE_TYPES),
  start_time: displayText(1, 64).refine(isStartTime, 'must be a time of day such as 09:00, or an RFC 3339 date-time'),
  timezone: TimeZone,
};

const META = {
  name: { description: 'What people see in lists', examples: ['Weekly report'] },
  target: {
    description: 'For `internal_agent` the id or slug of an agent of the tenant; for `external_url` an https URL',
    examples: ['czdoc9is0j8ht9lgmxg9edn58'],
  },
  body_bytes: { description: 'The body of the request or the message, in base64', examples: ['eyJoZWxsbyI6IndvcmxkIn0='] },
  cron_expr: { description: 'A cron expression of five fields: minute, hour, day, month, weekday', examples: ['0 9 * * MON'] },
  headers: { description: 'The headers of the request. Values of secret ones are stored encrypted', examples: [{ 'x-team': 'ops' }] },
  interval_minutes: { description: 'The minutes between two runs, as elapsed time', examples: [60] },
  max_retries: { description: 'How often a failed request is repeated', examples: [3] },
  method: { description: 'The method of requests to an external target' },
  retry_backoff: {
    description: 'The n-th wait: `exponential` 30 s × 2ⁿ, `linear` 30 s × n, `fixed` 30 s',
    examples: ['exponential'],
  },
  schedule_type: { description: '`daily` fires every day at start_time; else the job has an interval or a cron expression' },
  start_time: {
    description: 'For `daily` the time of day. For `interval` the time of day or RFC 3339 date-time from which intervals count',
    examples: ['09:00'],
  },
  timezone: { description: 'The time zone of the schedule; null: UTC', examples: ['Europe/Berlin'] },
} as const;

export const CronJobCreate = z
  .strictObject({
    name: fields.name.meta(META.name),
    kind: z.enum(CronJob.JOB_KINDS).meta({ description: 'Whether the job fires once or repeatedly', examples: ['recurring'] }),
    target_kind: z.enum(CronJob.TARGET_KINDS).meta({ description: 'What the job calls', examples: ['internal_agent'] }),
    target: fields.target.meta(META.target),
    body_bytes: fields.body_bytes.nullable().default(null).meta(META.body_bytes),
    cron_expr: fields.cron_expr.nullable().default(null).meta(META.cron_expr),
    fire_at: Instant.nullable()
      .default(null)
      .meta({ description: 'When a one-shot job fires', examples: ['2126-03-14T09:26:53.589Z'] }),
    headers: fields.headers.default({}).meta(META.headers),
    interval_minutes: fields.interval_minutes.nullable().default(null).meta(META.interval_minutes),
    max_retries: fields.max_retries.default(3).meta(META.max_retries),
    method: fields.method.default('POST').meta(META.method),
    retry_backoff: fields.retry_backoff.default('exponential').meta(META.retry_backoff),
    schedule_type: fields.schedule_type.default('interval').meta(META.schedule_type),
    start_time: fields.start_time.nullable().default(null).meta(META.start_time),
    timezone: fields.timezone.nullable().default(null).meta(META.timezone),
  })
  .meta({
    id: 'CronJobCreate',
    examples: [
      {
        name: 'Weekly report',
        kind: 'recurring',
        target_kind: 'internal_agent',
        target: 'czdoc9is0j8ht9lgmxg9edn58',
        cron_expr: '0 9 * * MON',
        timezone: 'Europe/Berlin',
      },
    ],
  });

/** Has a schedule, and may have a target. */
export const CronJobDraft = CronJobCreate.extend({
  name: CronJobCreate.shape.name.optional(),
  kind: CronJobCreate.shape.kind.default('recurring'),
  target_kind: CronJobCreate.shape.target_kind.optional(),
  target: CronJobCreate.shape.target.optional(),
  after: Instant.refine((at) => at < '9000', 'must be before the year 9000')
    .optional()
    .meta({
      description: 'The runs after this time are returned. Absent: the runs after now',
      examples: ['2126-03-14T09:26:53.589Z'],
    }),
}).meta({ id: 'CronJobDraft', examples: [{ cron_expr: '0 9 * * MON', timezone: 'Europe/Berlin' }] });

export const CronJobUpdate = z
  .strictObject({
    name: fields.name.nullish().meta(META.name),
    target: fields.target.nullish().meta(META.target),
    body_bytes: fields.body_bytes.nullish().meta(META.body_bytes),
    cron_expr: fields.cron_expr.nullish().meta(META.cron_expr),
    headers: fields.headers.nullish().meta({ ...META.headers, description: `${META.headers.description}; \`***\` keeps a secret value` }),
    interval_minutes: fields.interval_minutes.nullish().meta(META.interval_minutes),
    max_retries: fields.max_retries.nullish().meta(META.max_retries),
    method: fields.method.nullish().meta(META.method),
    retry_backoff: fields.retry_backoff.nullish().meta(META.retry_backoff),
    schedule_type: fields.schedule_type.nullish().meta(META.schedule_type),
    start_time: fields.start_time.nullish().meta(META.start_time),
    timezone: fields.timezone.nullish().meta(META.timezone),
  })
  .meta({ id: 'CronJobUpdate', examples: [{ timezone: 'Europe/Berlin' }] });
