import type { Rule } from './access-rules.ts';

/**
 * The callers (principals) with a role in the tenant `home`. `role` is the tenant role with which they act. `labels`
 * says what they may do on the tenant's agent: `*` means everything; any other value is a key of LABELS.
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
  // An OWNER with an API key that allows only reads.
  'read-only owner': { role: 'OWNER', labels: '*' },
  // An ADMIN whose API key is limited to the role AUDITOR. The next one is the OWNER who created the agents, with an
  // API key that is limited to the role MEMBER.
  'limited admin': { role: 'AUDITOR', labels: 'agent:read' },
  'limited owner': { role: 'MEMBER', labels: '*' },
  // The OWNER who created the agents, with an API key that is limited to the role AUDITOR. With this key, roles on
  // agents have no effect.
  'auditing owner': { role: 'AUDITOR', labels: 'agent:read' },
  // A super-admin who is a MEMBER of the tenant, and uses an API key of this tenant.
  'bound super-admin': { role: 'MEMBER', labels: '' },
  // A member who was MANAGER of the agent, was removed from the tenant, and was added again.
  returned: { role: 'MEMBER', labels: '' },
  // A user with a sign-in token, which is not bound to a tenant. This user is also an ADMIN of a suspended tenant and
  // of a closed tenant.
  'signed in': { role: 'ADMIN', labels: '*' },
} as const;

/**
 * The other principals with valid credentials. Their credentials give them no role in the tenant `home`. For example,
 * `elsewhere` is an ADMIN of both tenants, but uses an API key of `away`; the runners use runner keys.
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
  // Users with sign-in tokens: `left` is a member only of a closed tenant, and `unknown` is not registered.
  left: 403,
  unknown: 403,
  // A caller with the token of a skill's webhook, which is not an API key.
  'skill caller': 401,
} as const;

type Holder = keyof typeof HOLDERS;
export type PrincipalName = Holder | (typeof OTHERS)[number] | keyof typeof REFUSED;
export const PRINCIPALS: readonly PrincipalName[] = [
  ...(Object.keys(HOLDERS) as Holder[]),
  ...OTHERS,
  ...(Object.keys(REFUSED) as (keyof typeof REFUSED)[]),
];

/** The permissions that each tenant role includes, as in the section Roles of spec/decisions.md. */
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
 * Says what an id in a request identifies, or what is wrong with it. `own` is a resource of the tenant `home`, and
 * `foreign` one of `away`. `sibling` is a resource of another agent. `hidden` is a resource that only some callers may
 * see, such as an admin-only agent. `suspended` and `closed` are tenants in this state, in which the principal `signed
 * in` is an ADMIN.
 */
export type State = 'own' | 'foreign' | 'missing' | 'malformed' | 'other type' | 'sibling' | 'hidden' | 'suspended' | 'closed';

/** The principals whose credentials are valid in the tenant `away`. */
export const OTHER_TENANT_PRINCIPALS: readonly PrincipalName[] = ['stranger', 'elsewhere', 'strange runner'];

/**
 * The states of all ids in a request. `agent` is the state of the id of the agent for which the permission is required;
 * it may be in the path or in the body. `read` is true for GET requests.
 */
export type Target = {
  readonly tenant: State;
  readonly agent: State;
  readonly path: readonly State[];
  readonly body: readonly State[];
  readonly read: boolean;
};

/** The permissions of a super-admin with break-glass (temporary) access to a tenant. They only allow reading. */
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
 * Returns the expected status of a principal's request. The operation requires this permission in the tenant whose id
 * is in the path. 200 means that the request is allowed.
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

/**
 * Returns the expected status of an operation on a session. Unless it only reads, such an operation looks for the
 * session before it checks a permission.
 */
const statusOnSession = (who: PrincipalName, { all, runner, runnerOnly, notRunners }: Rule, target: Target): number => {
  const isRunner = runner && (who === 'runner' || who === 'other runner') && target.tenant === 'own';
  const refused = target.read && !isRunner ? statusInTenant(who, 'tenant:read', target) : 200;
  if (refused !== 200) return refused;
  const isThere = (['own', 'foreign'] as const).some((tenant) => target.path.every((state) => state === tenant));
  if (!isThere) return 404;
  if (who.includes('runner')) return who !== 'runner' || target.tenant !== 'own' ? 404 : notRunners ? 403 : 200;
  const status = statusInTenant(who, runnerOnly ? 'agent:read' : all[0]!, target);
  return runnerOnly && status === 200 ? 403 : status;
};

/** The principals whose API keys have a lower role than their owners. */
const LIMITED_KEYS: readonly PrincipalName[] = ['limited admin', 'limited owner', 'auditing owner'];

const statusesByRule = (who: PrincipalName, rule: Rule, target: Target): readonly number[] => {
  const [first] = rule.all;
  if (rule.onSession) return [statusOnSession(who, rule, target)];
  if (rule.onReservation) return [who === 'runner' && target.tenant === 'own' ? 200 : 404];
  if (rule.onOwnSignIn) return [who.includes('runner') ? 403 : who === 'owner' && target.path[0] === 'own' ? 200 : 404];
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

/** Returns what kind of credential a principal has: how the platform finds out what the principal may do. */
export const credentialKindOf = (who: PrincipalName): 'refused' | 'runner' | 'holder' | 'other' => {
  if (who in REFUSED) return 'refused';
  if (who.includes('runner')) return 'runner';
  return who in HOLDERS ? 'holder' : 'other';
};

/**
 * Returns whether a principal has access to agents only by roles and grants on them. Admin-only agents are hidden from
 * such principals.
 */
export const hasOnlyAgentRoles = (who: PrincipalName): boolean => HOLDERS[who as Holder]?.role === 'MEMBER';

/** Returns whether a principal has access to the agents of the dataset without a role on them, or has created them. */
export const seesAllAgents = (who: PrincipalName): boolean =>
  who === 'guest' || who === 'limited owner' || (who in HOLDERS && !hasOnlyAgentRoles(who));

/** Returns whether a principal may see the private skills of the tenant. */
export const seesPrivateSkills = (who: PrincipalName): boolean => ['OWNER', 'ADMIN'].includes(HOLDERS[who as Holder]?.role ?? '');

/** Returns whether a principal has access to no agent at all. */
export const seesNoAgent = (who: PrincipalName): boolean => hasOnlyAgentRoles(who) && HOLDERS[who as Holder].labels === '';

/** Returns the statuses that the response may have. 200 means any status of a success. */
export const statusesFor = (who: PrincipalName, rule: Rule, target: Target): readonly number[] => {
  // A runner may end sessions while its tenant is suspended. Therefore, the platform looks for the session before it
  // refuses the runner.
  if (who === 'runner of suspended tenant' && rule.onSession && !target.read) return [403, 404];
  if (who in REFUSED) return [REFUSED[who as keyof typeof REFUSED]];
  if (target.path.includes('malformed')) return [404];
  if (who === 'read-only owner' && !target.read && (target.tenant === 'own' || rule.onSession || rule.onReservation || rule.ofUser))
    return [403];
  if (rule.inAnyTenant && target.agent === 'foreign' && (who === 'stranger' || who === 'elsewhere')) return [200];
  const allowed = statusesByRule(who, rule, target);
  // If a malformed id of the agent is in the body, the platform cannot check the permission on the agent. It refuses
  // the body instead.
  const unread = rule.inBody && target.agent === 'malformed' && statusInTenant(who, 'tenant:read', target) === 200;
  if (unread && (target.read || who !== 'guest')) return [422];
  if (!allowed.includes(200)) return allowed;
  if (target.path.some((state) => state !== 'own')) return [404];
  return target.body.some((state) => state !== 'own') ? [422, 404] : [200];
};
