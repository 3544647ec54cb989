import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import * as Rejection from '../../domain/deliveries/rejection.ts';
import * as ReplayGuard from '../../domain/deliveries/replay-guard.ts';
import { PLATFORM, type Recorded } from '../../domain/event.ts';
import { isId25 } from '../../domain/id.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import * as User from '../../domain/identity/user.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import * as AttemptReport from '../../domain/runners/attempt-report.ts';
import * as Session from '../../domain/sessions/session.ts';
import * as SkillRefusal from '../../domain/skill-calls/skill-refusal.ts';
import { type Change, insertDerived, type Row } from '../projection.ts';
import type { Table } from '../table.ts';
import { keyOwnerOf, subjectRef } from './audit-subject.ts';

/** A resource or a person that an event names besides the resource of its stream. */
export type EventSubject = { readonly kind: string; readonly id: string };

/** The fields of events with the id of a subject, or with a list of ids, and the kind of the subject. */
const FIELDS: Readonly<Record<string, string>> = {
  user_id: 'user',
  owner_id: 'user',
  new_owner_id: 'user',
  old_owner_ids: 'user',
  agent_id: 'agent',
  source_id: 'agent',
  author_agent_id: 'agent',
  target_agent_id: 'agent',
  skill_id: 'skill',
  tool_id: 'tool',
  model_id: 'model',
  identity_id: 'linked_identity',
  integration_id: 'integration',
  key_id: 'api_key',
  job_id: 'cron_job',
  blackout_id: 'blackout',
  delivery_id: 'delivery',
  continues_id: 'session',
  benchmark_id: 'benchmark',
  listing_id: 'listing',
};

/**
 * The categories with many events for each delivery or model call. They get no rows: the columns of the audit log find their agents
 * (`agent_id`), deliveries (`resource_id`) and integrations (`actor_id`).
 */
const WITHOUT_ROWS: ReadonlySet<string> = new Set([
  Delivery.category,
  Rejection.category,
  ReplayGuard.category,
  SkillRefusal.category,
  Acknowledgement.category,
  AttemptReport.category,
  BudgetHour.category,
]);

const idsIn = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string' && isId25(one));

const named = (fields: Row): EventSubject[] =>
  Object.entries(FIELDS).flatMap(([name, kind]) => (fields[name] ? idsIn(fields[name]).map((id) => ({ kind, id })) : []));

const ofSession = ({ user_id, continues_id }: Row): EventSubject[] => named({ user_id, continues_id });

/** The cron job of a delivery: among the events without rows, only this one refers to something that no column finds. */
const jobOf = ({ category }: Recorded, { cron }: Row): EventSubject[] =>
  category === Delivery.category && cron ? named({ job_id: (cron as Row).job_id }) : [];

const fieldsOf = (event: Recorded, meta: Row): EventSubject[] => {
  if (WITHOUT_ROWS.has(event.category)) return jobOf(event, meta);
  // A session has many events that name a model.
  return event.category === Session.category ? ofSession(meta) : named(meta);
};

/**
 * Returns the subjects that an event names, each once, without the resource of its entry. `entry` has the fields that
 * follow from the event alone.
 */
export const subjectsOf = (event: Recorded, entry: Row): readonly EventSubject[] => {
  const meta = entry.meta as Row;
  const fields = fieldsOf(event, meta);
  const agent = typeof entry.agent_id === 'string' ? [{ kind: 'agent', id: entry.agent_id }] : [];
  const all = new Map([...agent, ...fields].map((subject) => [subject.id, subject]));
  all.delete(String(entry.resource_id));
  return [...all.values()];
};

/**
 * The index of the events by their subjects. It has no rows for the resource and the agent of an entry, which the audit
 * log itself finds, except that it has all persons. `slot` numbers the subjects of an event.
 */
export const eventSubjectTable = {
  name: 'event_subjects',
  key: ['event_id', 'slot'],
  appendOnly: true,
  columns: { tenant_id: 'text', event_id: 'text', slot: 'text', subject_id: 'text' },
  docs: {},
  indexes: [{ columns: ['tenant_id', 'subject_id'], withoutNull: 'subject_id' }],
} as const satisfies Table;

/** The person who is the resource of an entry: a member, or a user of the platform. */
const personOf = ({ category, id }: Recorded, { resource_type, resource_id }: Row): string[] => {
  if (resource_type === 'member') return [String(resource_id)];
  return category === User.category ? [id] : [];
};

/** Returns the changes that add an event to the index. */
export const subjectRowsOf = (event: Recorded, entry: Row): readonly Change[] => {
  const { tenant } = event.meta;
  if (tenant === PLATFORM) return [];
  const ids = subjectsOf(event, entry).flatMap(({ id }) => (id === entry.agent_id ? [] : [id]));
  const rows = [...new Set([...personOf(event, entry), ...ids])];
  const row = (slot: number): Row => ({ tenant_id: tenant, event_id: event.event_id, slot: String(slot) });
  // Most events about an API key do not name its owner, whom the row of the key does.
  const owner =
    event.category === ApiKey.category && event.type !== 'ApiKeyUsed' && rows.length === 0
      ? [
          insertDerived(eventSubjectTable.name, row(0), {
            reads: { key: subjectRef(event.id) },
            complete: ({ key }) => ({ subject_id: keyOwnerOf(key ?? null) }),
          }),
        ]
      : [];
  return [
    ...rows.map((subject_id, slot): Change => ({ op: 'insert', table: eventSubjectTable.name, row: { ...row(slot), subject_id } })),
    ...owner,
  ];
};
