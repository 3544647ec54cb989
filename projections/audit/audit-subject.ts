import { jsonEqual } from '../../domain/aggregate.ts';
import { PLATFORM, type Recorded } from '../../domain/event.ts';
import { SECRET } from '../audit-record.ts';
import { AUDIT_RECORDS } from '../audit-records.ts';
import { type Change, insertDerived, type Row, type RowRef } from '../projection.ts';
import type { Table } from '../table.ts';

/**
 * The resources that audit log entries name and whose changes they show: those with events whose audit records have
 * `fields`. A row has the state of a resource after the last applied event. `of_tenant` is the tenant to which the
 * resource belongs; null if it belongs to the platform. `fields` is the JSON of its fields, without secrets and with
 * long values shortened.
 */
export const subjectTable = {
  name: 'subjects',
  key: ['id'],
  columns: { id: 'text', of_tenant: 'text', name: 'text', email: 'text', fields: 'text' },
  docs: {},
  isReadByChanges: true,
} as const satisfies Table;

/** A change of a field in the form in which an entry shows it. */
export type FieldChange = { readonly pointer: string; readonly from: unknown; readonly to: unknown };

export const subjectRef = (id: string): RowRef => ({ table: subjectTable.name, key: { id } });

export const membershipId = (tenant: string, user_id: string): string => `${tenant}/${user_id}`;

const MAX_VALUE_LENGTH = 500;

/** Returns a value in the form in which an entry shows it. A long value becomes a text, and is cut. */
const shortened = (value: unknown): unknown => {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return text.length <= MAX_VALUE_LENGTH ? value : `${text.slice(0, MAX_VALUE_LENGTH).toWellFormed()}…`;
};

/** Returns whether an event in the stream of a tenant is about one of its members. */
export const isAboutMember = ({ type, data }: Recorded): boolean => AUDIT_RECORDS.get(type)?.about === 'member' && 'user_id' in data;

export const subjectIdOf = (event: Recorded): string => {
  const { user_id, agent_id } = event.data as Row;
  if (AUDIT_RECORDS.get(event.type)?.about === 'agent') return String(agent_id);
  return isAboutMember(event) ? membershipId(event.id, String(user_id)) : event.id;
};

const storedFields = (subject: Row | null): Row => (subject?.fields ? (JSON.parse(subject.fields as string) as Row) : {});

const fieldsOf = ({ type, data }: Recorded): Row => {
  const fields = AUDIT_RECORDS.get(type)?.fields?.(data as Row) ?? {};
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shortened(value)]));
};

const wasShortened = (value: unknown): boolean => typeof value === 'string' && value.length > MAX_VALUE_LENGTH;

/**
 * Returns the fields about the actor for the entry of an old event about the use of an API key. The actor of such an
 * event is the platform, but the entry must show the user or agent that the key stands for. `key` is the row of the API
 * key.
 */
export const keyUserOf = ({ type, actor, id }: Recorded, key: Row | null): Row => {
  if (type !== 'ApiKeyUsed' || actor.kind !== 'system') return {};
  const { owner_id = null, agent_id = null } = storedFields(key);
  const user_id = agent_id ? null : owner_id;
  return { key_id: id, user_id, agent_id, actor_id: agent_id ?? owner_id ?? actor.id, by_runner: agent_id !== null };
};

/** Returns the owner of an API key from the row of the key; null if it has none. */
export const keyOwnerOf = (key: Row | null): string | null => {
  const { owner_id } = storedFields(key);
  return typeof owner_id === 'string' ? owner_id : null;
};

/** Returns the changes that an event makes to its subject. `subject` is the row of the subject before the event. */
export const changesOf = (event: Recorded, subject: Row | null): readonly FieldChange[] => {
  const record = AUDIT_RECORDS.get(event.type);
  if (!record?.fields || record.first) return [];
  const old = storedFields(subject);
  return Object.entries(fieldsOf(event)).flatMap(([name, to]) => {
    const from = name === 'secret' ? SECRET : (old[name] ?? null);
    return jsonEqual(from, to) && to !== SECRET && !wasShortened(to) ? [] : [{ pointer: `/${name}`, from, to }];
  });
};

/** Returns the name that an event gives to its subject; undefined if it gives none. */
export const newNameOf = ({ type, data }: Recorded): unknown => {
  const record = AUDIT_RECORDS.get(type);
  if (!record?.fields) return undefined;
  const fields = data as Row;
  return record.name ? fields[record.name] : (fields.name ?? fields.label);
};

/** Returns the tenant of the subject whose first known event this is; null if it belongs to the platform. */
const ofTenant = ({ tenant, type, data }: Recorded): unknown => {
  if (tenant !== PLATFORM) return tenant;
  // The streams of some resources of tenants belong to the platform. Their first events name the tenant.
  return AUDIT_RECORDS.get(type)?.first ? ((data as Row).tenant_id ?? null) : null;
};

/**
 * Returns the change that an event makes to the row of its subject; an empty list if the event is not about a subject.
 */
export const subjectChangesOf = (event: Recorded): readonly Change[] => {
  if (!AUDIT_RECORDS.get(event.type)?.fields) return [];
  const id = subjectIdOf(event);
  const { email } = event.data as Row;
  const complete = ({ old }: Readonly<Record<string, Row | null>>): Row => {
    const fields = Object.entries({ ...storedFields(old!), ...fieldsOf(event) }).filter(
      ([name, value]) => value !== null && name !== 'secret',
    );
    return {
      of_tenant: old ? old.of_tenant : ofTenant(event),
      name: newNameOf(event) ?? old?.name ?? null,
      email: email ?? old?.email ?? null,
      fields: JSON.stringify(Object.fromEntries(fields)),
    };
  };
  return [insertDerived(subjectTable.name, { id }, { reads: { old: subjectRef(id) }, complete })];
};
