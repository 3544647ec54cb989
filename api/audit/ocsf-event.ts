import type { z } from 'zod';
import type { AuditLogRead } from '../../projections/audit/audit-log.ts';
import { RECORDS } from '../../projections/audit/audit-sentence.ts';
import type { AuditActivity, AuditRecord } from '../../projections/audit-record.ts';

type Entry = z.output<typeof AuditLogRead>;

/** The class of an OCSF event and its activity. */
type Classification = {
  readonly class_uid: number;
  readonly class_name: string;
  readonly category_uid: number;
  readonly category_name: string;
  readonly activity_id: number;
  readonly activity_name: string;
};

const PRODUCT = { name: 'Annals', vendor_name: 'Annals' };
const IDENTITY = { category_uid: 3, category_name: 'Identity & Access Management' } as const;
const AUTHENTICATION = { class_uid: 3002, class_name: 'Authentication', ...IDENTITY } as const;
const USER_ACCESS = { class_uid: 3005, class_name: 'User Access Management', ...IDENTITY } as const;
const GROUP = { class_uid: 3006, class_name: 'Group Management', ...IDENTITY } as const;
const API_ACTIVITY = { class_uid: 6003, class_name: 'API Activity', category_uid: 6, category_name: 'Application Activity' } as const;

/** The OCSF class of each activity. The name of the activity 99 (Other) is the action itself. */
const CLASSIFICATIONS: Readonly<Record<Exclude<AuditActivity, 'other'>, Classification>> = {
  create: { ...API_ACTIVITY, activity_id: 1, activity_name: 'Create' },
  read: { ...API_ACTIVITY, activity_id: 2, activity_name: 'Read' },
  update: { ...API_ACTIVITY, activity_id: 3, activity_name: 'Update' },
  delete: { ...API_ACTIVITY, activity_id: 4, activity_name: 'Delete' },
  logon: { ...AUTHENTICATION, activity_id: 1, activity_name: 'Logon' },
  logoff: { ...AUTHENTICATION, activity_id: 2, activity_name: 'Logoff' },
  assign_privileges: { ...USER_ACCESS, activity_id: 1, activity_name: 'Assign Privileges' },
  revoke_privileges: { ...USER_ACCESS, activity_id: 2, activity_name: 'Revoke Privileges' },
  add_user: { ...GROUP, activity_id: 3, activity_name: 'Add User' },
  remove_user: { ...GROUP, activity_id: 4, activity_name: 'Remove User' },
};

const classificationOf = (action: string, { activity }: AuditRecord): Classification =>
  activity === 'other' ? { ...API_ACTIVITY, activity_id: 99, activity_name: action } : CLASSIFICATIONS[activity];

const SEVERITY_IDS = { high: 4, medium: 3, low: 2, informational: 1 } as const;

/** The record of an event that a newer version of the software has appended. */
const UNKNOWN: AuditRecord = { summary: '', activity: 'other' };

const userOf = (uid: unknown) => ({ user: { ...(typeof uid === 'string' && { uid }), type_id: 1 } });
const privilegesIn = (privilege: unknown): string[] => (typeof privilege === 'string' ? [privilege] : []);

/** Returns the attributes that only this event class has. In the class of groups, a tenant is the group of its members. */
const attributesOf = (class_uid: number, entry: Entry, { privilege }: AuditRecord): object => {
  const { tenant_id, resource_type: type, resource_id, resource_name, meta, actor } = entry;
  const privileges = privilegesIn(privilege ?? meta.role);
  if (class_uid === AUTHENTICATION.class_uid) return { ...userOf(actor.id), service: { name: PRODUCT.name } };
  if (class_uid === USER_ACCESS.class_uid) return { ...userOf(meta.user_id ?? meta.new_owner_id ?? resource_id), privileges };
  if (class_uid === GROUP.class_uid) return { group: { uid: tenant_id, type: 'tenant' }, ...userOf(resource_id), privileges };
  return { resources: [{ type, ...(resource_id ? { uid: resource_id } : {}), ...(resource_name ? { name: resource_name } : {}) }] };
};

const actorOf = ({ actor: { kind, id, name, email, key_id } }: Entry) => ({
  ...(kind === 'user'
    ? { user: { uid: id, type_id: 1, ...(name ? { name } : {}), ...(email ? { email_addr: email } : {}) } }
    : { app_name: PRODUCT.name, app_uid: id }),
  ...(key_id ? { session: { credential_uid: key_id } } : {}),
});

/**
 * Returns an entry as an event of the Open Cybersecurity Schema Framework 1.4. Fields without a counterpart in OCSF are
 * in `unmapped`.
 */
export const ocsfEvent = (entry: Entry): object => {
  const { id, tenant_id, agent_id, action, ip, user_agent, meta, created_at, position, request_id, summary, changes } = entry;
  const record = RECORDS.get(action) ?? UNKNOWN;
  const classified = classificationOf(action, record);
  return {
    ...classified,
    type_uid: classified.class_uid * 100 + classified.activity_id,
    time: Date.parse(created_at),
    severity_id: SEVERITY_IDS[record.severity ?? 'informational'],
    status_id: record.refused ? 2 : 1,
    metadata: {
      version: '1.4.0',
      product: PRODUCT,
      uid: id,
      log_name: 'audit',
      event_code: action,
      ...(request_id ? { correlation_uid: request_id } : {}),
      ...(tenant_id ? { tenant_uid: tenant_id } : {}),
    },
    actor: actorOf(entry),
    ...attributesOf(classified.class_uid, entry, record),
    api: { operation: action, service: { name: PRODUCT.name }, ...(request_id ? { request: { uid: request_id } } : {}) },
    src_endpoint: ip ? { ip } : { svc_name: PRODUCT.name },
    ...(user_agent ? { http_request: { user_agent } } : {}),
    message: summary,
    unmapped: { agent_id, meta, position, changes },
  };
};
