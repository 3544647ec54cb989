import type { Rule } from './access-rules.ts';

/**
 * The principals with a role in the tenant `home`. `role` is their tenant role. `labels` lists what they may do on the
 * tenant's agent: `*` means everything. Otherwise it is a key of LABELS.
 */
const HOLDERS = {
  owner: { role: 'OWNER', labels: '*' },
  admin: { role: 'ADMIN', labels: '*' },
  member: { role: 'MEMBER', labels: '' },
  auditor: { role: 'AUDITOR', labels: 'agent:read' },
  viewer: { role: 'MEMBER', labels: 'VIEWER' },
  manager: { role: 'MEMBER', labels: 'MANAGER' },
  'agent owner': { role: 'MEMBER', labels: '*' },
  'granted viewer': { role: 'MEMBER', labels: 'VIEWER' },
  'granted editor': { role: 'MEMBER', labels: 'MANAGER' },
  // An OWNER who uses an API key that allows only reads.
  'read-only owner': { role: 'OWNER', labels: '*' },
  // An ADMIN who uses an API key with the role AUDITOR, and the OWNER who created the agents with the role MEMBER.
  'limited admin': { role: 'AUDITOR', labels: 'agent:read' },
  'limited owner': { role: 'MEMBER', labels: '*' },
  // The OWNER who created the agents, with an API key of the role AUDITOR: roles on agents do not count.
  'auditing owner': { role: 'AUDITOR', labels: 'agent:read' },
  // A super-admin who uses an API key of the tenant, in which they are a MEMBER.
  'bound super-admin': { role: 'MEMBER', labels: '' },
  // A member who was MANAGER of the agent, left the tenant and has joined it again.
  returned: { role: 'MEMBER', labels: '' },
  // A user with a token of the issuer, which is not bound to a tenant. The user is also an ADMIN of a suspended tenant
  // and of a closed one.
  'signed in': { role: 'ADMIN', labels: '*' },
} as const;

/**
 * Principals without a role in the tenant `home`. There are two exceptions: `elsewhere` is an ADMIN of both tenants and
 * uses an API key of `away`, and the runners use runner keys.
 */
const OTHERS = ['stranger', 'elsewhere', 'runner', 'other runner', 'strange runner', 'super-admin', 'guest', 'demoted'] as const;
const REFUSED = {
  none: 401,
  garbage: 401,
  expired: 401,
  revoked: 401,
  suspended: 401,
  removed: 401,
  'of suspended tenant': 403,
  'runner of suspended tenant': 403,
  'of closed tenant': 401,
  'runner of closed tenant': 401,
  // Users with tokens of the issuer: the only tenant of `left` is closed, and `unknown` is not registered.
  left: 403,
  unknown: 403,
  // The token of a skill's webhook, which is not an API key.
  'skill caller': 401,
} as const;

type Holder = keyof typeof HOLDERS;
export type PrincipalName = Holder | (typeof OTHERS)[number] | keyof typeof REFUSED;
export const PRINCIPALS: readonly PrincipalName[] = [
  ...(Object.keys(HOLDERS) as Holder[]),
  ...OTHERS,
  ...(Object.keys(REFUSED) as (keyof typeof REFUSED)[]),
];

/** What each tenant role allows, as in the section Roles of spec/decisions.md. */
const TENANT_ROLES: Record<string, (permission: string) => boolean> = {
  OWNER: () => true,
  ADMIN: (permission) => permission !== 'tenant:billing:write' && permission !== 'tenant:close',
  MEMBER: (permission) => permission === 'tenant:read' || permission === 'tenant:agents:create',
  AUDITOR: (permission) => permission === 'tenant:read' || permission === 'tenant:audit:read',
};
const VIEWER = ['agent:read', 'agent:chat:read'];
const LABELS: Record<string, readonly string[]> = {
  '': [],
  'agent:read': ['agent:read'],
  VIEWER,
  MANAGER: [...VIEWER, 'agent:assign', 'agent:settings:write', 'agent:skills:write', 'agent:tools:write'],
};

/**
 * Which resource an id in a request identifies, or what is wrong with the id. `sibling`: a resource of another agent.
 * `hidden`: an admin-only agent. `suspended` and `closed`: a tenant in this state, in which the principal `signed in`
 * is an ADMIN.
 */
export type State = 'own' | 'foreign' | 'missing' | 'malformed' | 'other type' | 'sibling' | 'hidden' | 'suspended' | 'closed';

/** Principals whose credentials are valid in the tenant `away`. */
export const OTHER_TENANT_PRINCIPALS: readonly PrincipalName[] = ['stranger', 'elsewhere', 'strange runner'];

/**
 * The states of the ids in a request. `agent` is the state of the agent on which the permission is required; its id is
 * in the path or in the body.
 */
export type Target = {
  readonly tenant: State;
  readonly agent: State;
  readonly path: readonly State[];
  readonly body: readonly State[];
  readonly read: boolean;
};

/** The permissions of a super-admin with break-glass (temporary) access to a tenant. All of them are for reading. */
const GUEST_PERMISSIONS = [
  'tenant:read',
  'tenant:audit:read',
  'tenant:billing:read',
  'tenant:integrations:read',
  'agent:read',
  'agent:chat:read',
];

const onAgent = (labels: string, permission: string, agent: State): number => {
  const permissions = labels === '*' ? null : LABELS[labels]!;
  if (permissions && !permissions.includes('agent:read')) return 404;
  if (agent !== 'own') return 404;
  return !permissions || permissions.includes(permission) ? 200 : 403;
};

const asHolder = ({ role, labels }: { role: string; labels: string }, permission: string, target: Target): number => {
  if (permission.startsWith('tenant:')) return TENANT_ROLES[role]!(permission) ? 200 : 403;
  return onAgent(role === 'OWNER' || role === 'ADMIN' ? '*' : labels, permission, target.agent);
};

const asGuest = (permission: string, { read, agent }: Target): number => {
  if (!GUEST_PERMISSIONS.includes(permission) || !read) return 403;
  return permission.startsWith('agent:') && agent !== 'own' ? 404 : 200;
};

/**
 * The expected status of a request by a principal, if the operation requires this permission in the tenant in the path.
 * 200 means allowed.
 */
const statusInTenant = (who: PrincipalName, permission: string, target: Target): number => {
  const isThere = target.tenant === 'own' || target.tenant === 'foreign' || target.tenant === 'suspended';
  if (who === 'super-admin') return isThere ? 403 : 404;
  if (who === 'guest' && isThere && target.tenant !== 'own') return 403;
  if (who === 'signed in' && target.tenant === 'suspended') return 403;
  if (target.tenant !== 'own') return 404;
  if (who === 'guest') return asGuest(permission, target);
  if (who === 'runner' || who === 'other runner') return 403;
  return who in HOLDERS ? asHolder(HOLDERS[who as Holder], permission, target) : 404;
};

const mayReadDelivery = (who: PrincipalName): boolean =>
  who === 'guest' || ['*', 'VIEWER', 'MANAGER'].includes(HOLDERS[who as Holder]?.labels ?? '');

/** The principals that are the user who started the session of the dataset. */
const STARTERS: readonly PrincipalName[] = ['owner', 'read-only owner', 'limited owner', 'auditing owner'];

/**
 * The statuses of an operation on a session. Its route checks no permission before the session is found, except for
 * reads.
 */
const statusOnSession = (who: PrincipalName, { all, runnerOnly, ofStarter }: Rule, target: Target): number => {
  const refused = target.read ? statusInTenant(who, 'tenant:read', target) : 200;
  if (refused !== 200) return refused;
  const isThere = (['own', 'foreign'] as const).some((tenant) => target.path.every((state) => state === tenant));
  if (!isThere) return 404;
  if (who.includes('runner')) return who === 'runner' && target.tenant === 'own' ? 200 : 404;
  const isRefused = runnerOnly || (ofStarter && !STARTERS.includes(who));
  const status = statusInTenant(who, isRefused ? 'agent:read' : all[0]!, target);
  return isRefused && status === 200 ? 403 : status;
};

/** The principals whose API keys have a lesser role than that of their owner. */
const LIMITED_KEYS: readonly PrincipalName[] = ['limited admin', 'limited owner', 'auditing owner'];

const statusesByRule = (who: PrincipalName, rule: Rule, target: Target): readonly number[] => {
  const [first] = rule.all;
  if (rule.onSession) return [statusOnSession(who, rule, target)];
  if (rule.onReservation) return [who === 'runner' && target.tenant === 'own' ? 200 : 404];
  if (rule.ofUser) return [who.includes('runner') || LIMITED_KEYS.includes(who) ? 403 : 200];
  if (rule.notRunners && who.includes('runner')) return [403];
  if (first === 'any') return [200];
  if (rule.inAnyTenant && who.includes('runner')) return [403];
  if (rule.inAnyTenant && !(who in HOLDERS)) return [404];
  if (first === 'platform') return [who === 'super-admin' || who === 'guest' ? 200 : 403];
  if (rule.runner && who === 'runner' && target.tenant === 'own' && (rule.onDelivery || target.agent === 'own')) return [200];
  if (rule.notGuests && who === 'guest' && target.tenant === 'own') return [403];
  const required = rule.inBody ? ['tenant:read', ...rule.all] : rule.all;
  const refusedStatus = required.map((permission) => statusInTenant(who, permission, target)).find((status) => status !== 200);
  if (rule.runnerOnly) return [refusedStatus ?? 403];
  if (rule.namesAgent && !refusedStatus && seesNoAgent(who)) return [422];
  if (!rule.onDelivery) return [refusedStatus ?? 200];
  if (refusedStatus) return [refusedStatus, 404];
  if (mayReadDelivery(who)) return [200];
  return [seesNoAgent(who) || target.path.some((state) => state !== 'own') ? 404 : 403];
};

/**
 * Whether a principal has access to agents only by roles and grants on them. Admin-only agents are hidden from such
 * principals.
 */
export const hasOnlyAgentRoles = (who: PrincipalName): boolean => HOLDERS[who as Holder]?.role === 'MEMBER';

/** Whether a principal sees the private skills of the tenant. */
export const seesPrivateSkills = (who: PrincipalName): boolean => ['OWNER', 'ADMIN'].includes(HOLDERS[who as Holder]?.role ?? '');

/** Whether a principal has no access to any agent. */
export const seesNoAgent = (who: PrincipalName): boolean => hasOnlyAgentRoles(who) && HOLDERS[who as Holder].labels === '';

/** The statuses that a response may have. 200 means any success status. */
export const statusesFor = (who: PrincipalName, rule: Rule, target: Target): readonly number[] => {
  // A runner may end sessions while its tenant is suspended, so its credential is not refused before the path is read.
  if (who === 'runner of suspended tenant' && rule.onSession && !rule.ofStarter && !target.read) return [403, 404];
  if (who in REFUSED) return [REFUSED[who as keyof typeof REFUSED]];
  if (target.path.includes('malformed')) return [404];
  if (who === 'read-only owner' && !target.read && (target.tenant === 'own' || rule.onSession || rule.onReservation || rule.ofUser))
    return [403];
  if (rule.inAnyTenant && target.agent === 'foreign' && (who === 'stranger' || who === 'elsewhere')) return [200];
  const allowed = statusesByRule(who, rule, target);
  // If the agent's id is in the body, the platform cannot check the permission before that id is valid.
  const unread = rule.inBody && target.agent === 'malformed' && statusInTenant(who, 'tenant:read', target) === 200;
  if (unread && (target.read || who !== 'guest')) return [422];
  if (!allowed.includes(200)) return allowed;
  if (target.path.some((state) => state !== 'own')) return [404];
  return target.body.some((state) => state !== 'own') ? [422, 404] : [200];
};
