import { applyResets, changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { conflict, invalid, Refusal } from '../refusal.ts';
import { instantOf, localTimeOf } from '../time-zone.ts';
import { nextOccurrence, type ParseCron, type Recurrence } from './recurrence.ts';

export const category = 'cronjob';

export const JOB_KINDS = ['one_shot', 'recurring'] as const;
export const TARGET_KINDS = ['internal_agent', 'external_url'] as const;
export const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'] as const;
export const SCHEDULE_TYPES = ['interval', 'daily'] as const;
export const BACKOFFS = ['exponential', 'linear', 'fixed'] as const;
export const JOB_STATUSES = ['active', 'paused', 'completed', 'failed', 'archived'] as const;

/** When a job is due. */
export type ScheduleFields = {
  readonly kind: (typeof JOB_KINDS)[number];
  readonly fire_at: string | null;
  readonly cron_expr: string | null;
  readonly interval_minutes: number | null;
  readonly schedule_type: (typeof SCHEDULE_TYPES)[number];
  readonly start_time: string | null;
  readonly timezone: string | null;
};

/**
 * `headers` has `***` for secret values; `sealed_headers` has these, encrypted as one JSON object. `body_bytes` is base64.
 * `target_agent_id`: the agent that `target` named when it was set; null if it is not an agent, absent in events of earlier versions.
 */
export type TargetFields = {
  readonly name: string;
  readonly target_kind: (typeof TARGET_KINDS)[number];
  readonly target: string;
  readonly target_agent_id?: string | null;
  readonly method: (typeof METHODS)[number];
  readonly headers: Readonly<Record<string, string>>;
  readonly sealed_headers: string | null;
  readonly body_bytes: string | null;
  readonly max_retries: number;
  readonly retry_backoff: (typeof BACKOFFS)[number];
};

export type JobFields = ScheduleFields & TargetFields;

/** RFC 3339 UTC; null: never due. */
type Next = { readonly next_fire_at: string | null };

export type CronJobEvent =
  | { type: 'CronJobCreated'; data: JobFields & Next & { readonly agent_id: string } }
  /** `next_fire_at` is present only if the change concerns the schedule. */
  | { type: 'CronJobUpdated'; data: Partial<JobFields & Next> }
  | { type: 'CronJobHeadersResealed'; data: { readonly sealed_headers: string } }
  | { type: 'CronJobPaused'; data: object }
  | { type: 'CronJobResumed'; data: Next }
  | { type: 'CronJobDeleted'; data: object };

export type CronJob = JobFields & {
  /** `archived`: deleted. A one-shot job that has ended keeps the status `active` or `paused`. */
  readonly status: 'absent' | 'active' | 'paused' | 'archived';
  readonly id: string;
  readonly tenant_id: string;
  readonly agent_id: string;
  readonly created_by_user_id: string | null;
  /** The time and (below) the revision of the last event that changed the schedule. */
  readonly scheduled_at: string;
  readonly schedule_revision: number;
  readonly next_fire_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export const initial: CronJob = {
  status: 'absent',
  id: '',
  tenant_id: '',
  agent_id: '',
  created_by_user_id: null,
  name: '',
  kind: 'recurring',
  target_kind: 'internal_agent',
  target: '',
  fire_at: null,
  cron_expr: null,
  interval_minutes: null,
  schedule_type: 'interval',
  start_time: null,
  timezone: null,
  method: 'POST',
  headers: {},
  sealed_headers: null,
  body_bytes: null,
  max_retries: 3,
  retry_backoff: 'exponential',
  scheduled_at: '',
  schedule_revision: 0,
  next_fire_at: null,
  created_at: '',
  updated_at: '',
};

const applyEvent = (job: CronJob, { id, tenant, at, actor, type, data }: Recorded<CronJobEvent>): CronJob => {
  switch (type) {
    case 'CronJobCreated':
      return {
        ...job,
        ...data,
        status: 'active',
        id,
        tenant_id: tenant,
        created_by_user_id: actor.kind === 'user' ? actor.id : null,
        created_at: at,
      };
    case 'CronJobUpdated':
    case 'CronJobHeadersResealed':
      return { ...job, ...data };
    case 'CronJobPaused':
      return { ...job, status: 'paused', next_fire_at: null };
    case 'CronJobResumed':
      return { ...job, ...data, status: 'active' };
    case 'CronJobDeleted':
      return { ...job, status: 'archived', next_fire_at: null };
  }
};

export const evolve = (job: CronJob, event: Recorded<CronJobEvent>): CronJob => {
  const { type, at, revision, data } = event;
  const isRescheduled = type === 'CronJobCreated' || (type === 'CronJobUpdated' && 'next_fire_at' in data);
  const isReplanned = isRescheduled || type === 'CronJobPaused' || type === 'CronJobResumed';
  return {
    ...applyEvent(job, event),
    updated_at: at,
    ...(isRescheduled ? { scheduled_at: at } : {}),
    ...(isReplanned ? { schedule_revision: revision } : {}),
  };
};

const LOCAL_TIME = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?$/;

/** Only valid if the target is an agent. */
export const targetAgentOf = ({ target_agent_id, agent_id }: CronJob): string => target_agent_id ?? agent_id;

/** HH:MM or HH:MM:SS. */
export const isLocalTime = (text: string): boolean => LOCAL_TIME.test(text);

const withSeconds = (time: string): string => (time.length === 5 ? `${time}:00` : time);

/** A field that is set although a one-shot job must not have it. */
const excessOfOneShot = (fields: ScheduleFields): string | undefined =>
  (['cron_expr', 'interval_minutes', 'start_time'] as const).find((name) => fields[name] !== null) ??
  (fields.schedule_type === 'interval' ? undefined : 'schedule_type');

const assertOneShot = (fields: ScheduleFields): void => {
  if (fields.fire_at === null) throw invalid('/fire_at', 'a one-shot job needs the time at which it fires');
  const excess = excessOfOneShot(fields);
  if (excess) throw invalid(`/${excess}`, 'a one-shot job has only fire_at');
};

const assertDaily = ({ start_time, interval_minutes, cron_expr }: ScheduleFields): void => {
  if (cron_expr !== null) throw invalid('/cron_expr', 'a job has either a cron expression or schedule_type daily');
  if (interval_minutes !== null) throw invalid('/interval_minutes', 'a job has either an interval or schedule_type daily');
  if (start_time === null) throw invalid('/start_time', 'a daily job needs the time of day at which it fires');
  if (!isLocalTime(start_time)) throw invalid('/start_time', 'must be a time of day such as 09:00 or 09:00:30');
};

const assertRecurring = (fields: ScheduleFields, parseCron: ParseCron): void => {
  const { fire_at, schedule_type, cron_expr, interval_minutes, start_time } = fields;
  if (fire_at !== null) throw invalid('/fire_at', 'a recurring job has no fire_at');
  if (schedule_type === 'daily') {
    assertDaily(fields);
    return;
  }
  if (cron_expr !== null && interval_minutes !== null)
    throw invalid('/interval_minutes', 'a job has either a cron expression or an interval');
  if (cron_expr === null && interval_minutes === null)
    throw invalid('/cron_expr', 'a recurring job needs cron_expr, interval_minutes, or schedule_type daily with start_time');
  if (cron_expr === null) return;
  if (start_time !== null) throw invalid('/start_time', 'a job with a cron expression has no start_time');
  if (parseCron(cron_expr) === null) throw invalid('/cron_expr', 'must be a cron expression of five fields that matches at some time');
};

/** When the first interval starts. */
const anchorOf = ({ start_time, timezone }: ScheduleFields, scheduledAt: string): string => {
  if (start_time === null) return scheduledAt;
  if (!isLocalTime(start_time)) return new Date(start_time).toISOString();
  const zone = timezone ?? 'UTC';
  return instantOf(`${localTimeOf(scheduledAt, zone).slice(0, 10)}T${withSeconds(start_time)}`, zone);
};

/**
 * `scheduledAt`: when the schedule was set.
 * @throws Refusal invalid if a field is missing, not allowed for this kind of schedule, or a malformed cron expression
 */
export const recurrenceOf = (fields: ScheduleFields, scheduledAt: string, parseCron: ParseCron): Recurrence => {
  const { kind, fire_at, schedule_type, cron_expr, interval_minutes, start_time } = fields;
  const zone = fields.timezone ?? 'UTC';
  if (kind === 'one_shot') {
    assertOneShot(fields);
    return { kind: 'once', at: fire_at! };
  }
  assertRecurring(fields, parseCron);
  if (schedule_type === 'daily') return { kind: 'daily', time: withSeconds(start_time!), zone };
  if (cron_expr !== null) return { kind: 'cron', expression: parseCron(cron_expr)!, zone };
  return { kind: 'interval', minutes: interval_minutes!, anchor: anchorOf(fields, scheduledAt) };
};

/** Whether the job is not deleted, and belongs to the agent `of`. */
export const exists = ({ status, agent_id }: CronJob, of: string): boolean =>
  status !== 'absent' && status !== 'archived' && agent_id === of;

/** @throws Refusal not_found if it is deleted or does not belong to this agent */
export const assertExists = (job: CronJob, agent_id: string): void => {
  if (!exists(job, agent_id)) throw new Refusal('not_found', 'There is no such cron job');
};

/** @throws Refusal invalid if the fields form no schedule, or if the time of a one-shot job is not in the future */
export const create =
  (fields: JobFields & { readonly agent_id: string }, at: string, parseCron: ParseCron) =>
  (job: CronJob): CronJobEvent[] => {
    if (job.status !== 'absent') return [];
    const next_fire_at = nextOccurrence(recurrenceOf(fields, at, parseCron), at);
    if (fields.kind === 'one_shot' && next_fire_at === null) throw invalid('/fire_at', 'must be in the future');
    return [{ type: 'CronJobCreated', data: { ...fields, next_fire_at } }];
  };

export type JobChanges = { [Name in keyof Omit<JobFields, 'kind' | 'fire_at' | 'target_kind'>]?: JobFields[Name] | null | undefined };

const resets = {
  body_bytes: null,
  cron_expr: null,
  interval_minutes: null,
  start_time: null,
  timezone: null,
  headers: {},
  sealed_headers: null,
  max_retries: 3,
  method: 'POST',
  retry_backoff: 'exponential',
  schedule_type: 'interval',
} as const;

const SCHEDULE_FIELDS = ['cron_expr', 'interval_minutes', 'schedule_type', 'start_time', 'timezone'] as const;

export type JobContext = { readonly agent_id: string; readonly at: string; readonly parseCron: ParseCron };

/**
 * A new schedule of an active recurring job gives a new due time. That of a one-shot job does not depend on these fields.
 * @throws Refusal not_found, invalid if the fields do not form a schedule
 */
export const update =
  (changes: JobChanges, { agent_id, at, parseCron }: JobContext) =>
  (job: CronJob): CronJobEvent[] => {
    assertExists(job, agent_id);
    const fields = changedFields(job, applyResets(changes, resets)) as Partial<JobFields>;
    if (Object.keys(fields).length === 0) return [];
    if (!SCHEDULE_FIELDS.some((name) => name in fields)) return [{ type: 'CronJobUpdated', data: fields }];
    const recurrence = recurrenceOf({ ...job, ...fields }, at, parseCron);
    if (job.kind === 'one_shot') return [{ type: 'CronJobUpdated', data: fields }];
    return [{ type: 'CronJobUpdated', data: { ...fields, next_fire_at: job.status === 'active' ? nextOccurrence(recurrence, at) : null } }];
  };

export const notDue = (): Refusal => conflict('', 'not_due', 'The job is not due: it is paused, its time has passed, or it was skipped');

/** The job is not due until it is resumed. @throws Refusal not_found if it does not exist */
export const pause =
  (agent_id: string) =>
  (job: CronJob): CronJobEvent[] => {
    assertExists(job, agent_id);
    return job.status === 'paused' ? [] : [{ type: 'CronJobPaused', data: {} }];
  };

/** Next due after `at`. @throws Refusal not_found, conflict if the time of a one-shot job is not after `at` */
export const resume =
  ({ agent_id, at, parseCron }: JobContext) =>
  (job: CronJob): CronJobEvent[] => {
    assertExists(job, agent_id);
    if (job.status === 'active') return [];
    const next_fire_at = nextOccurrence(recurrenceOf(job, job.scheduled_at, parseCron), at);
    if (next_fire_at === null) throw notDue();
    return [{ type: 'CronJobResumed', data: { next_fire_at } }];
  };

/** @throws Refusal not_found if it does not exist */
export const remove =
  (agent_id: string) =>
  (job: CronJob): CronJobEvent[] => {
    assertExists(job, agent_id);
    return [{ type: 'CronJobDeleted', data: {} }];
  };
