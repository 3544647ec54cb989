/** Everybody who asks: by credential, and by what they hold in the home tenant and on its agent. */
export const HOLDERS = {
  owner: { role: 'OWNER', labels: '*' },
  admin: { role: 'ADMIN', labels: '*' },
  member: { role: 'MEMBER', labels: '' },
  auditor: { role: 'AUDITOR', labels: 'agent:read' },
  viewer: { role: 'MEMBER', labels: 'VIEWER' },
  manager: { role: 'MEMBER', labels: 'MANAGER' },
  'agent owner': { role: 'MEMBER', labels: '*' },
  'granted viewer': { role: 'MEMBER', labels: 'VIEWER' },
  'granted editor': { role: 'MEMBER', labels: 'MANAGER' },
  // A super-admin by a key of the tenant, in which they are a mere member.
  'bound super-admin': { role: 'MEMBER', labels: '' },
  // Was MANAGER of the agent, left the tenant, and is a member again.
  returned: { role: 'MEMBER', labels: '' },
  // By a token of the issuer, which is bound to no tenant; an ADMIN of a suspended and of a closed one, too.
  'signed in': { role: 'ADMIN', labels: '*' },
} as const;

/** `elsewhere`: an ADMIN of both tenants, by a key of the other one. */
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
  // Tokens of the issuer: of somebody whose only tenant is closed, and of nobody that is known here.
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

/** spec/decisions.md, Roles. */
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
 * spec/operations.md, row by row: what each operation asks for. `+ runner`: or the key of the agent in the path. `in body`: on the agent
 * that the body names. `on delivery`: tenant:integrations:read, or agent:chat:read on the delivery's agent.
 */
const TABLE = `
GET    /tenant/{tenant_id}                                              tenant:read
PATCH  /tenant/{tenant_id}                                              tenant:settings:write
POST   /tenant/{tenant_id}/close                                        tenant:close
POST   /tenant/{tenant_id}/reopen                                       tenant:close
GET    /tenant/{tenant_id}/members                                      tenant:read
POST   /tenant/{tenant_id}/members                                      tenant:members:write
PATCH  /tenant/{tenant_id}/members/{user_id}                            tenant:members:write
DELETE /tenant/{tenant_id}/members/{user_id}                            tenant:members:write
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
GET    /tenant/{tenant_id}/agents/{agent_id}/models                     agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/models                     agent:settings:write
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
GET    /tenant/{tenant_id}/webhook-integrations                         tenant:read
POST   /tenant/{tenant_id}/webhook-integrations                         tenant:integrations:write
GET    /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:read
PATCH  /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:integrations:write
DELETE /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:integrations:write
POST   /tenant/{tenant_id}/webhook-integrations/{id}/rotate-secret      tenant:integrations:write
GET    /tenant/{tenant_id}/webhook-integrations/{id}/deliveries         tenant:read on delivery
GET    /tenant/{tenant_id}/deliveries/{delivery_id}                     tenant:read on delivery
GET    /tenant/{tenant_id}/deliveries/{delivery_id}/body                tenant:read on delivery + runner
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

/** What every other operation says of itself: enough where it is one permission, or several at once. */
const said = (description: string): Rule | null => {
  if (description === 'Requires any valid credential.') return ruleOf('any');
  if (!/^Requires the permissions? (`[\w:]+`( and )?)+(, or the agent's runner key)?\.$/.test(description)) return null;
  const runner = description.includes("or the agent's runner key") ? ' + runner' : '';
  return ruleOf(`${[...description.matchAll(/`([\w:]+)`/g)].map((found) => found[1]).join(' & ')}${runner}`);
};

/** @throws Error where neither the table nor the document has a rule */
export const ruleFor = (method: string, path: string, description: string): Rule => {
  const known = rules.get(`${method.toUpperCase()} ${path}`);
  // What platform operators may do is one rule for the whole of /admin.
  const found = known ?? (/^\/(api\/v1\/)?admin\//.test(path) ? ruleOf('platform') : said(description));
  if (!found) throw new Error(`no rule for ${method} ${path}: write it into the table`);
  return found;
};

/**
 * `sibling`: the same of another agent. `hidden`: an agent for admins only. `suspended`, `closed`: a tenant that is so, in which one of those
 * who ask is an ADMIN.
 */
export type State = 'own' | 'foreign' | 'missing' | 'malformed' | 'other type' | 'sibling' | 'hidden' | 'suspended' | 'closed';

/** Those whose credential is of the second tenant. */
export const AWAY: readonly PrincipalName[] = ['stranger', 'elsewhere', 'strange runner'];

/** Where a call points: each place with what stands in it. `agent` is the agent that decides, in path or body. */
export type Where = {
  readonly tenant: State;
  readonly agent: State;
  readonly path: readonly State[];
  readonly body: readonly State[];
  readonly read: boolean;
};

/** What a super-admin who was let in may do: look. */
const LOOK = ['tenant:read', 'tenant:audit:read', 'tenant:billing:read', 'tenant:integrations:read', 'agent:read', 'agent:chat:read'];

const onAgent = (labels: string, permission: string, agent: State): number => {
  const held = labels === '*' ? null : LABELS[labels]!;
  if (held && !held.includes('agent:read')) return 404;
  if (agent !== 'own') return 404;
  return !held || held.includes(permission) ? 200 : 403;
};

const asHolder = ({ role, labels }: { role: string; labels: string }, permission: string, where: Where): number => {
  if (permission.startsWith('tenant:')) return TENANT_ROLES[role]!(permission) ? 200 : 403;
  return onAgent(role === 'OWNER' || role === 'ADMIN' ? '*' : labels, permission, where.agent);
};

const asGuest = (permission: string, { read, agent }: Where): number => {
  if (!LOOK.includes(permission) || !read) return 403;
  return permission.startsWith('agent:') && agent !== 'own' ? 404 : 200;
};

/** Inside the tenant of the path, for one permission; 200: this one is no hindrance. */
const inside = (who: PrincipalName, permission: string, where: Where): number => {
  const isThere = where.tenant === 'own' || where.tenant === 'foreign' || where.tenant === 'suspended';
  if (who === 'super-admin') return isThere ? 403 : 404;
  if (who === 'guest' && isThere && where.tenant !== 'own') return 403;
  if (who === 'signed in' && where.tenant === 'suspended') return 403;
  if (where.tenant !== 'own') return 404;
  if (who === 'guest') return asGuest(permission, where);
  if (who === 'runner' || who === 'other runner') return 403;
  return who in HOLDERS ? asHolder(HOLDERS[who as Holder], permission, where) : 404;
};

const mayReadDelivery = (who: PrincipalName): boolean =>
  who === 'guest' || ['*', 'VIEWER', 'MANAGER'].includes(HOLDERS[who as Holder]?.labels ?? '');

const permitted = (who: PrincipalName, rule: Rule, where: Where): readonly number[] => {
  const [first] = rule.all;
  if (first === 'any') return [200];
  if (first === 'platform') return [who === 'super-admin' || who === 'guest' ? 200 : 403];
  if (rule.runner && who === 'runner' && where.tenant === 'own' && (rule.onDelivery || where.agent === 'own')) return [200];
  const asked = rule.inBody ? ['tenant:read', ...rule.all] : rule.all;
  const hindrance = asked.map((permission) => inside(who, permission, where)).find((status) => status !== 200);
  // Whether a delivery is hidden or refused to somebody of its own tenant is not written anywhere.
  if (rule.onDelivery) return hindrance ? [hindrance, 404] : mayReadDelivery(who) ? [200] : [403, 404];
  return [hindrance ?? 200];
};

/** Whether somebody holds nothing but what roles and grants on agents give: an agent for admins only is none to them. */
export const isPlain = (who: PrincipalName): boolean => HOLDERS[who as Holder]?.role === 'MEMBER';

/** Whether somebody sees no agent at all. */
export const seesNone = (who: PrincipalName): boolean => isPlain(who) && HOLDERS[who as Holder].labels === '';

/** The statuses that a call may answer with; 200 stands for success. */
export const verdict = (who: PrincipalName, rule: Rule, where: Where): readonly number[] => {
  if (who in REFUSED) return [REFUSED[who as keyof typeof REFUSED]];
  if (where.path.includes('malformed')) return [404];
  const gate = permitted(who, rule, where);
  // Where the body says on what, it is read before anybody knows whether they may.
  const unread = rule.inBody && where.body.includes('malformed') && inside(who, 'tenant:read', where) === 200;
  if (unread && (where.read || who !== 'guest')) return [422];
  if (!gate.includes(200)) return gate;
  if (where.path.some((state) => state !== 'own')) return [404];
  return where.body.some((state) => state !== 'own') ? [422, 404] : [200];
};
