import type { DomainEvent } from '../domain/event.ts';
import type { Row } from './projection.ts';

/**
 * The activity of an event in the Open Cybersecurity Schema Framework (OCSF). `other` is used if the framework has no
 * activity for the event.
 */
export type AuditActivity =
  | 'create'
  | 'read'
  | 'update'
  | 'delete'
  | 'other'
  | 'logon'
  | 'logoff'
  | 'add_user'
  | 'remove_user'
  | 'assign_privileges'
  | 'revoke_privileges';

/** What an action is about, as people look for it in an audit log. */
export const AUDIT_CATEGORIES = ['agents', 'access', 'members', 'secrets', 'integrations', 'deliveries', 'schedules', 'money'] as const;
export type AuditCategory = (typeof AUDIT_CATEGORIES)[number];

/** How the audit log shows events of one type. `D` is the type of their data. */
export type AuditRecord<D = Row> = {
  /**
   * The rest of a sentence that begins with the actor. In braces, it contains a name of `SummaryNames`, the word
   * `fields` (for the names of the event's fields), or a field of the event.
   */
  readonly summary: string;
  /** The summary if the actor is the platform itself; absent if it is the same. */
  readonly summaryForPlatform?: string;
  readonly activity: AuditActivity;
  /** The privilege that the event assigns or revokes; absent if that is its field `role`. */
  readonly privilege?: string;
  /**
   * High: a user gets access to everything. Medium: an attempt or a countermeasure that a person should check. Low:
   * access changed, or something was lost. Absent: informational.
   */
  readonly severity?: 'low' | 'medium' | 'high';
  /** Set if the event records that something was refused. */
  readonly refused?: true;
  /**
   * Set if the event is not about the resource of its stream, but about the membership of its `user_id`, or about the
   * agent of its `agent_id`.
   */
  readonly about?: 'member' | 'agent';
  /** Set for the first event of a resource. Its entry shows no changes, because `meta` has the first values. */
  readonly first?: true;
  /** The field that has the name of the resource; absent if that is `name` or `label`. */
  readonly name?: keyof D & string;
  /**
   * Returns the fields of the resource that the event sets. The first event of a resource sets all fields whose
   * defaults are not null. Absent if entries show no changes of this resource. (It is a method, so that the records of
   * all events fit into one list.)
   */
  fields?(data: D): Row;
};

export type AuditOf<E extends DomainEvent> = { readonly [T in E['type']]: AuditRecord<Extract<E, { type: T }>['data']> };

/** The text that an audit entry shows in place of a secret, for both the old and the new value. */
export const SECRET = '***';

export const allFields = (data: object): Row => ({ ...data });

/** Returns the fields with names of the form `<prefix>/<name>`. */
export const withPrefix = (prefix: string, fields: object): Row =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${prefix}/${name}`, value]));
