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
 * The permission that each operation requires, as in spec/operations.md. `+ runner`: the operation also accepts the
 * runner key of the agent in the path. `in body`: the permission is required on the agent whose id is in the body. `on
 * delivery`: tenant:integrations:read is required, or agent:chat:read on the delivery's agent.
 */
const TABLE = `
GET    /tenant/{tenant_id}                                              tenant:read
PATCH  /tenant/{tenant_id}                                              tenant:settings:write
GET    /tenant/{tenant_id}/history                                      tenant:read
GET    /tenant/{tenant_id}/diff                                         tenant:read
POST   /tenant/{tenant_id}/close                                        tenant:close
POST   /tenant/{tenant_id}/reopen                                       tenant:close
GET    /tenant/{tenant_id}/members                                      tenant:read
POST   /tenant/{tenant_id}/members                                      tenant:members:write
PATCH  /tenant/{tenant_id}/members/{user_id}                            tenant:members:write
DELETE /tenant/{tenant_id}/members/{user_id}                            tenant:members:write
POST   /tenant/{tenant_id}/members/{user_id}/invitation                 tenant:members:write
GET    /tenant/{tenant_id}/api-keys                                     tenant:keys:write
POST   /tenant/{tenant_id}/api-keys                                     tenant:keys:write
DELETE /tenant/{tenant_id}/api-keys/{id}                                tenant:keys:write
GET    /tenant/{tenant_id}/agents                                       tenant:read
POST   /tenant/{tenant_id}/agents                                       tenant:agents:create
GET    /tenant/{tenant_id}/agents/{agent_id}                            agent:read + runner
PATCH  /tenant/{tenant_id}/agents/{agent_id}                            agent:settings:write
DELETE /tenant/{tenant_id}/agents/{agent_id}                            agent:delete
POST   /tenant/{tenant_id}/agents/{agent_id}/restore                    agent:delete
GET    /tenant/{tenant_id}/agents/{agent_id}/history                    agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/diff                       agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/can-author-skills          agent:roles:write
PUT    /tenant/{tenant_id}/agents/{agent_id}/skill-visibility-scope     agent:skills:write
GET    /tenant/{tenant_id}/agents/{agent_id}/budget                     agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/budget                     agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/slack-config               agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/slack-config               agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/models                     agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/models                     agent:settings:write
PUT    /tenant/{tenant_id}/agents/{agent_id}/favorite                   agent:read
DELETE /tenant/{tenant_id}/agents/{agent_id}/favorite                   agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/integrations               agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/mailboxes                  agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/attachments                agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/transfer-ownership         agent:ownership:transfer
GET    /tenant/{tenant_id}/agents/{agent_id}/roles                      agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/roles/{user_id}            agent:roles:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/roles/{user_id}            agent:roles:write
GET    /tenant/{tenant_id}/agents/{agent_id}/grants                     agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/grants                     agent:roles:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/grants/{user_id}           agent:roles:write
PUT    /tenant/{tenant_id}/agent-grants                                 agent:roles:write in body
GET    /tenant/{tenant_id}/agent-role-permissions                       tenant:read
PUT    /tenant/{tenant_id}/agent-role-permissions                       tenant:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/effective-permissions      agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/runner-keys                agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/runner-keys                agent:settings:write & agent:skills:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/runner-keys/{id}           agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/runner-credentials         agent:settings:write + runner
POST   /tenant/{tenant_id}/agents/{agent_id}/runner-credentials         agent:settings:write + runner
DELETE /tenant/{tenant_id}/agents/{agent_id}/runner-credentials/{id}    agent:settings:write
GET    /tenant/{tenant_id}/audit-logs                                   tenant:audit:read
GET    /tenant/{tenant_id}/audit-logs/export                            tenant:audit:read
GET    /tenant/{tenant_id}/models                                       tenant:read
POST   /tenant/{tenant_id}/models/{model_id}/agents                     agent:settings:write in body
DELETE /tenant/{tenant_id}/models/{model_id}/agents/{agent_id}          agent:settings:write
GET    /tenant/{tenant_id}/webhook-integrations                         tenant:read
POST   /tenant/{tenant_id}/webhook-integrations                         tenant:integrations:write
GET    /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:read
PATCH  /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:integrations:write
DELETE /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:integrations:write
POST   /tenant/{tenant_id}/webhook-integrations/{id}/rotate-secret      tenant:integrations:write
GET    /tenant/{tenant_id}/webhook-integrations/{id}/deliveries         tenant:read on delivery
GET    /tenant/{tenant_id}/deliveries/{delivery_id}                     tenant:read on delivery
GET    /tenant/{tenant_id}/deliveries/{delivery_id}/body                tenant:read on delivery + runner
POST   /tenant/{tenant_id}/deliveries/{delivery_id}/redeliver           tenant:integrations:write
GET    /me                                                              any
`;

export type Rule = { readonly all: readonly string[]; readonly runner: boolean; readonly inBody: boolean; readonly onDelivery: boolean };

const ruleOf = (text: string): Rule => ({
  all: text.replace(/ \+ runner| in body| on delivery/g, '').split(' & '),
  runner: text.includes('+ runner'),
  inBody: text.includes('in body'),
  onDelivery: text.includes('on delivery'),
});

const rules = new Map(
  TABLE.trim()
    .split('\n')
    .map((line): [string, Rule] => {
      const [, method, path, text] = /^(\w+) +(\S+) +(.+)$/.exec(line)!;
      return [`${method} ${path}`, ruleOf(text!)];
    }),
);

/**
 * The access rule of an operation, read from the operation's description in the OpenAPI document. It is null if the
 * description contains more than the required permissions: the table above has the rules of such operations.
 */
const ruleFromDescription = (description: string): Rule | null => {
  if (description === 'Requires any valid credential.') return ruleOf('any');
  if (!/^Requires the permissions? (`[\w:]+`( and )?)+(, or the agent's runner key)?\.$/.test(description)) return null;
  const runner = description.includes("or the agent's runner key") ? ' + runner' : '';
  return ruleOf(`${[...description.matchAll(/`([\w:]+)`/g)].map((found) => found[1]).join(' & ')}${runner}`);
};

/** The access rule of an operation. @throws Error if neither the table nor the operation's description contains one */
export const ruleFor = (method: string, path: string, description: string): Rule => {
  const known = rules.get(`${method.toUpperCase()} ${path}`);
  // All operations below /admin have the same rule.
  const found = known ?? (/^\/(api\/v1\/)?admin\//.test(path) ? ruleOf('platform') : ruleFromDescription(description));
  if (!found) throw new Error(`no rule for ${method} ${path}: add it to the table`);
  return found;
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

const statusesByRule = (who: PrincipalName, rule: Rule, target: Target): readonly number[] => {
  const [first] = rule.all;
  if (first === 'any') return [200];
  if (first === 'platform') return [who === 'super-admin' || who === 'guest' ? 200 : 403];
  if (rule.runner && who === 'runner' && target.tenant === 'own' && (rule.onDelivery || target.agent === 'own')) return [200];
  const required = rule.inBody ? ['tenant:read', ...rule.all] : rule.all;
  const refusedStatus = required.map((permission) => statusInTenant(who, permission, target)).find((status) => status !== 200);
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

/** Whether a principal has no access to any agent. */
export const seesNoAgent = (who: PrincipalName): boolean => hasOnlyAgentRoles(who) && HOLDERS[who as Holder].labels === '';

/** The statuses that a response may have. 200 means any success status. */
export const statusesFor = (who: PrincipalName, rule: Rule, target: Target): readonly number[] => {
  if (who in REFUSED) return [REFUSED[who as keyof typeof REFUSED]];
  if (target.path.includes('malformed')) return [404];
  if (who === 'read-only owner' && !target.read && target.tenant === 'own') return [403];
  const allowed = statusesByRule(who, rule, target);
  // If the agent's id is in the body, the platform cannot check the permission before that id is valid.
  const unread = rule.inBody && target.agent === 'malformed' && statusInTenant(who, 'tenant:read', target) === 200;
  if (unread && (target.read || who !== 'guest')) return [422];
  if (!allowed.includes(200)) return allowed;
  if (target.path.some((state) => state !== 'own')) return [404];
  return target.body.some((state) => state !== 'own') ? [422, 404] : [200];
};
