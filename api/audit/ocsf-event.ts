import type { z } from 'zod';
import type { AuditLogRead } from '../../projections/audit/audit-log.ts';

type Entry = z.output<typeof AuditLogRead>;

/** An OCSF event class with an activity, and the attributes that only this class has. */
type Classified = {
  readonly class_uid: number;
  readonly class_name: string;
  readonly category_uid: number;
  readonly category_name: string;
  readonly activity_id: number;
  readonly activity_name: string;
  /** The attributes that only this event class has. */
  readonly attributes: object;
};

const PRODUCT = { name: 'Annals', vendor_name: 'Annals' };
const IDENTITY = { category_uid: 3, category_name: 'Identity & Access Management' } as const;
const AUTHENTICATION = { class_uid: 3002, class_name: 'Authentication', ...IDENTITY } as const;
const USER_ACCESS = { class_uid: 3005, class_name: 'User Access Management', ...IDENTITY } as const;
const GROUP = { class_uid: 3006, class_name: 'Group Management', ...IDENTITY } as const;
const API_ACTIVITY = { class_uid: 6003, class_name: 'API Activity', category_uid: 6, category_name: 'Application Activity' } as const;

const userOf = (uid: unknown) => ({ user: { ...(typeof uid === 'string' && { uid }), type_id: 1 } });
const textsOf = (...values: unknown[]): string[] => values.filter((value) => typeof value === 'string');
const roleOf = ({ role }: Entry['meta']): string[] => textsOf(role);

const signIn =
  (activity_id: number, activity_name: string) =>
  ({ actor }: Entry): Classified => ({
    ...AUTHENTICATION,
    activity_id,
    activity_name,
    attributes: { ...userOf(actor.id), service: { name: PRODUCT.name } },
  });

/** Returns the function that classifies entries about memberships. In OCSF, the tenant is the group of its members. */
const membership =
  (activity_id: number, activity_name: string) =>
  ({ tenant_id, resource_id, meta }: Entry): Classified => ({
    ...GROUP,
    activity_id,
    activity_name,
    attributes: { group: { uid: tenant_id, type: 'tenant' }, ...userOf(resource_id), privileges: roleOf(meta) },
  });

type Access = (entry: Entry) => { readonly user: unknown; readonly privileges: readonly string[] };

const assign =
  (access: Access) =>
  (entry: Entry): Classified => {
    const { user, privileges } = access(entry);
    return { ...USER_ACCESS, activity_id: 1, activity_name: 'Assign Privileges', attributes: { ...userOf(user), privileges } };
  };

const revoke =
  (access: Access) =>
  (entry: Entry): Classified => ({ ...assign(access)(entry), activity_id: 2, activity_name: 'Revoke Privileges' });

const agentRole: Access = ({ meta }) => ({ user: meta.user_id, privileges: roleOf(meta) });
const ownership: Access = ({ meta }) => ({ user: meta.new_owner_id, privileges: ['OWNER'] });
const tenantRole: Access = ({ resource_id, meta }) => ({ user: resource_id, privileges: roleOf(meta) });
const superAdmin: Access = ({ resource_id }) => ({ user: resource_id, privileges: ['super_admin'] });
const superAdminAccess: Access = ({ meta }) => ({ user: meta.user_id, privileges: ['super_admin'] });

/**
 * Maps an action to the function that returns its OCSF class. Actions that are not listed belong to the class API
 * Activity.
 */
const CLASSES: Readonly<Record<string, (entry: Entry) => Classified>> = {
  'signed.in': signIn(1, 'Logon'),
  'signed.out': signIn(2, 'Logoff'),
  'member.added': membership(3, 'Add User'),
  'member.removed': membership(4, 'Remove User'),
  'member.role_changed': assign(tenantRole),
  'agent.role_assigned': assign(agentRole),
  'agent.access_granted': assign(agentRole),
  'agent.role_revoked': revoke(agentRole),
  'agent.access_revoked': revoke(agentRole),
  'agent.ownership_transferred': assign(ownership),
  'super_admin.granted': assign(superAdmin),
  'super_admin.revoked': revoke(superAdmin),
  'super_admin.access_opened': assign(superAdminAccess),
};

/**
 * The activities of OCSF's class API Activity. The pattern of an activity matches the end of an action, such as
 * `agent.created`.
 */
const ACTIVITIES: readonly (readonly [id: number, name: string, action: RegExp])[] = [
  [
    1,
    'Create',
    /[._](?:accepted|added|allowed|appended|assigned|authored|called|cloned|connected|created|credential_stored|declared|exposed|granted|import_started|imported|installed|issued|opened|provisioned|published|queued|recorded|registered|replay_requested|requested|received|reserved|sent|triggered)$/,
  ],
  [2, 'Read', /[._](?:checked|disclosed|events_counted|exported|read|scanned|seen|used)$/],
  [
    4,
    'Delete',
    /[._](?:closed|deleted|disallowed|destroyed|disconnected|erased|erasure_completed|erasure_started|hidden|lifted|released|removed|retired|revoked|undone|unlinked|yanked)$/,
  ],
  [
    3,
    'Update',
    /[._](?:acknowledged|activated|blocked|bounced|cancelled|changed|cleared|closed_to_tenant|closing|completed|confirmed|deactivated|dead_lettered|deferred|delivered|disabled|dropped|enabled|expired|failed|favorited|finished|import_advanced|job_paused|link_answered|linked|opened_to_tenant|paused|pinned|promoted|reopened|reordered|replaced|replay_advanced|replay_cancelled|replay_finished|requeued|resealed|restored|resumed|retried|rotated|rotation_started|scored|settled|submitted|suspended|synced|tokens_refreshed|transferred|unfavorited|updated|usage_counted)$/,
  ],
];

const apiActivity = ({ action, resource_type, resource_id, resource_name }: Entry): Classified => {
  const [activity_id, activity_name] = ACTIVITIES.find(([, , ending]) => ending.test(action)) ?? [99, action];
  const resources = [
    { type: resource_type, ...(resource_id ? { uid: resource_id } : {}), ...(resource_name ? { name: resource_name } : {}) },
  ];
  return { ...API_ACTIVITY, activity_id, activity_name, attributes: { resources } };
};

const FAILED = /[._](?:refused|refusals_counted|rejected|rejections_counted)$/;

/**
 * The severities of OCSF, each with a pattern for its actions. High (4): a user gets access to everything. Medium (3):
 * an attempt or a countermeasure that a person should check. Low (2): access changed, or something was lost. All other
 * actions are informational (1).
 */
const SEVERITIES: readonly (readonly [id: number, action: RegExp])[] = [
  [4, /^super_admin\.(?:granted|access_opened)$/],
  [
    3,
    /^(?:access\.|super_admin\.|tenant\.(?:suspended|closing|closed|erasure_started|data_key_destroyed|erased)$|user\.suspended$|delivery\.dead_lettered$)/,
  ],
  [
    2,
    /^(?:member\.|agent\.(?:role|access|ownership)|api_key\.(?!used)|runner_credential\.|audit\.exported$|credential\.submitted$|database\.|identity\.(?:linked|unlinked)$|master_key\.|skill_webhook\.(?:exposed|refused)$|webhook\.reject|webhook\.redelivery_differed$)/,
  ],
  [2, /[._](?:deleted|disconnected|disallowed|dropped|rotated)$/],
];
const INFORMATIONAL = 1;

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
  const { attributes, ...classified } = (CLASSES[action] ?? apiActivity)(entry);
  return {
    ...classified,
    type_uid: classified.class_uid * 100 + classified.activity_id,
    time: Date.parse(created_at),
    severity_id: SEVERITIES.find(([, pattern]) => pattern.test(action))?.[0] ?? INFORMATIONAL,
    status_id: FAILED.test(action) ? 2 : 1,
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
    ...attributes,
    api: { operation: action, service: { name: PRODUCT.name }, ...(request_id ? { request: { uid: request_id } } : {}) },
    src_endpoint: ip ? { ip } : { svc_name: PRODUCT.name },
    ...(user_agent ? { http_request: { user_agent } } : {}),
    message: summary,
    unmapped: { agent_id, meta, position, changes },
  };
};
