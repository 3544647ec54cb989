import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { isId25 } from '../../domain/id.ts';
import { Refusal } from '../../domain/refusal.ts';
import { isTimeZone, localTimeOf } from '../../domain/time-zone.ts';
import { printErrorLine, printLine } from '../logging/print-line.ts';
import { apiClient } from '../runner/api-client.ts';
import { createOutageReport } from '../runner/outage-report.ts';
import { usageError } from './arguments.ts';

const MAX_COUNT = 20;

export type PreviewArguments = {
  readonly agent?: string | undefined;
  readonly job?: string | undefined;
  readonly cron?: string | undefined;
  readonly every?: string | undefined;
  readonly daily?: string | undefined;
  readonly at?: string | undefined;
  readonly zone?: string | undefined;
  readonly count: string;
};

/** A stored cron job, or the fields of one that is not stored. */
export type PreviewTarget = {
  readonly agent: string;
  readonly count: number;
  readonly job: string | null;
  readonly draft: Readonly<Record<string, unknown>> & { readonly timezone: string | null };
};

const SCHEDULES = ['cron', 'every', 'daily', 'at'] as const;

const scheduleOf = (name: (typeof SCHEDULES)[number], value: string): Record<string, unknown> => {
  if (name === 'cron') return { kind: 'recurring', cron_expr: value };
  if (name === 'daily') return { kind: 'recurring', schedule_type: 'daily', start_time: value };
  if (name === 'at') return { kind: 'one_shot', fire_at: value };
  if (!/^[1-9]\d{0,5}$/.test(value)) throw usageError('--every must be a number of minutes');
  return { kind: 'recurring', interval_minutes: Number(value) };
};

/** @throws a usage error */
export const draftOf = (args: PreviewArguments): PreviewTarget => {
  const { agent, job, zone, count } = args;
  if (agent === undefined) throw usageError('Name the agent that has the job');
  const given = SCHEDULES.filter((name) => args[name] !== undefined);
  if (!/^[1-9]\d?$/.test(count) || Number(count) > MAX_COUNT) throw usageError(`--count must be a number from 1 to ${MAX_COUNT}`);
  if (job !== undefined && (given.length > 0 || zone !== undefined))
    throw usageError(`--${given[0] ?? 'zone'} is for a draft: leave out the id of the job`);
  if (job !== undefined && !isId25(job)) throw usageError(`${job} is not the id of a cron job`);
  if (job !== undefined) return { agent, count: Number(count), job, draft: { timezone: null } };
  if (given.length !== 1) throw usageError('Name a job, or a draft by one of --cron, --every, --daily and --at');
  if (zone !== undefined && !isTimeZone(zone)) throw usageError(`${zone} is not a time zone such as Europe/Berlin`);
  const draft = { ...scheduleOf(given[0]!, args[given[0]!]!), timezone: zone ?? null };
  return { agent, count: Number(count), job: null, draft };
};

const Preview = z.array(
  z.object({ due_at: z.string(), decision: z.string(), reason: z.string().nullable(), blackout_id: z.string().nullable() }),
);
const Job = z.object({ timezone: z.string().nullable(), status: z.string() });
type Occurrence = z.output<typeof Preview>[number];

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

const lineOf = ({ due_at, decision, reason, blackout_id }: Occurrence, zone: string): string => {
  const local = localTimeOf(due_at, zone);
  const weekday = WEEKDAYS[Temporal.PlainDateTime.from(local).dayOfWeek - 1];
  const why = reason === null ? '' : ` (${reason.replaceAll('_', ' ')}${blackout_id === null ? '' : ` ${blackout_id}`})`;
  return `${due_at}  ${weekday} ${local.replace('T', ' ')} ${zone}  ${decision === 'fired' ? 'fires' : decision}${why}`;
};

type Connection = { readonly url: string; readonly key: string; readonly json: boolean };

const find = async ({ agent: name, job, draft }: PreviewTarget, { url, key }: Connection) => {
  const api = apiClient({ url, key, outage: createOutageReport(() => {}, '') });
  const { tenant, agent } = await api.find(name);
  const path = `/tenant/${tenant}/agents/${agent}/cron-jobs`;
  if (job !== null) {
    const { timezone, status } = await api.get(Job, `${path}/${job}`);
    return { timezone, status, occurrences: await api.get(Preview, `${path}/${job}/preview`) };
  }
  const body = { name: 'Draft', target_kind: 'internal_agent', target: agent, ...draft };
  return {
    timezone: draft.timezone,
    status: 'active',
    occurrences: await api.post(Preview, `${path}/preview`, { body, idempotencyKey: randomUUID() }),
  };
};

/** Also prints whether the job would fire, and if not, why. Returns the exit code: 1 if the service refuses or does not answer. */
export const previewCronJob = async (target: PreviewTarget, connection: Connection): Promise<number> => {
  try {
    const { timezone, status, occurrences } = await find(target, connection);
    const shown = occurrences.slice(0, target.count);
    const none = status === 'paused' ? 'The job is paused, so it is not due' : 'It is not due any more';
    const lines = shown.length === 0 ? [none] : shown.map((occurrence) => lineOf(occurrence, timezone ?? 'UTC'));
    for (const line of connection.json ? [JSON.stringify(shown)] : lines) printLine(line);
    return 0;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    printErrorLine(`annals: ${error.message}`);
    return 1;
  }
};
