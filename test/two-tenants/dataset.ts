import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openapi } from '../../api/http/openapi.ts';
import type { PlainPaths } from '../../api/http/plain-route.ts';
import { plainPaths } from '../../api/plain-routes.ts';
import { issueKey } from '../../commands/identity/api-key.ts';
import { registerUser } from '../../commands/identity/user.ts';
import * as User from '../../domain/identity/user.ts';
import * as RunnerCredential from '../../domain/runners/runner-credential.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { createInMemoryPlatform } from '../fixtures/in-memory-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';
import type { PrincipalName } from './expected-access.ts';

type Platform = Awaited<ReturnType<typeof createInMemoryPlatform>>;
type Made = { id: string; user_id: string; key: string; secret: string; url: string };

/** What there is one of in each tenant, and on the platform. */
export type ResourceType =
  | 'tenant'
  | 'agent'
  | 'member'
  | 'role holder'
  | 'grantee'
  | 'heir'
  | 'api key'
  | 'runner key'
  | 'integration'
  | 'delivery'
  | 'runner credential'
  | 'user'
  | 'model'
  | 'plan'
  | 'allowed account'
  | 'platform key'
  | 'projection'
  | 'rebuild'
  | 'parked event';

export type Resources = Partial<Record<ResourceType, string>>;
export type World = Awaited<ReturnType<typeof seeded>>;

const sent = async (p: Platform, method: string, path: string, key: string, body?: unknown): Promise<Made> => {
  const answer = await p.send(method, path, { key, ...(body === undefined ? {} : { body }) });
  if (answer.status >= 300) throw new Error(`the seed was refused: ${method} ${path} ${answer.status} ${answer.text}`);
  return answer.body as Made;
};

const PEOPLE = [
  'admin',
  'member',
  'auditor',
  'viewer',
  'manager',
  'agent owner',
  'granted viewer',
  'granted editor',
  'returned',
  'suspended',
  'removed',
] as const;
type Person = (typeof PEOPLE)[number];
const TENANT_ROLE: Partial<Record<Person, string>> = { admin: 'ADMIN', auditor: 'AUDITOR' };

const delivered = async (p: Platform, { url, secret }: Made): Promise<string> => {
  const raw = '{"zen":"speak like a human"}';
  const headers = {
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`,
    'x-github-delivery': randomUUID(),
    'x-github-event': 'ping',
  };
  const answer = await p.send('POST', new URL(url).pathname, { key: '', raw, headers });
  if (answer.status !== 202) throw new Error(`the seed's delivery was refused: ${answer.text}`);
  return (answer.body as Made).id;
};

const credentialOf = (p: Platform, tenant: string, agent_id: string): Promise<{ id: string }> => {
  const ctx = p.systemContext(tenant);
  const fields = { public_key: 'U', subject: 's', stream: 's', consumer: 'c', expires_at: new Date(Date.now() + 600_000).toISOString() };
  return ctx.transact(RunnerCredential, ctx.newId(), RunnerCredential.issue({ ...fields, agent_id }), { expectNew: true });
};

/** One of everything in a tenant, and somebody of every role. */
const tenantSeed = async (p: Platform, slug: string) => {
  const { id, tenant, key: owner } = await createSecondTenant(p, slug);
  const post = (path: string, body?: unknown) => sent(p, 'POST', `${tenant}${path}`, owner, body);
  const ids = {} as Record<Person, string>;
  const keys = {} as Record<Person, string>;
  for (const person of PEOPLE) {
    const email = `${person.replace(' ', '.')}@${slug}.test`;
    ids[person] = (await post('/members', { email, role: TENANT_ROLE[person] ?? 'MEMBER' })).user_id;
    keys[person] = await p.createKey(id, ids[person]);
  }
  const agent = (await post('/agents', { name: 'One', slug: 'one' })).id;
  const second = (await post('/agents', { name: 'Two', slug: 'two' })).id;
  const roles = { viewer: 'VIEWER', manager: 'MANAGER', 'agent owner': 'OWNER' } as const;
  for (const [person, role] of Object.entries(roles))
    await sent(p, 'PUT', `${tenant}/agents/${agent}/roles/${ids[person as Person]}`, owner, { role });
  await sent(p, 'PUT', `${tenant}/agents/${second}/roles/${ids['agent owner']}`, owner, { role: 'OWNER' });
  await sent(p, 'PATCH', `${tenant}/agents/${second}`, owner, { is_admin_only: true });
  await sent(p, 'PUT', `${tenant}/agents/${agent}/roles/${ids.returned}`, owner, { role: 'MANAGER' });
  await post(`/agents/${agent}/grants`, { user_id: ids.returned });
  await sent(p, 'DELETE', `${tenant}/members/${ids.returned}`, owner);
  await sleep(2);
  await post('/members', { email: `returned@${slug}.test`, role: 'MEMBER' });
  await post(`/agents/${agent}/grants`, { user_id: ids['granted viewer'] });
  await post(`/agents/${agent}/grants`, { user_id: ids['granted editor'], role: 'EDITOR' });
  const runnerKey = await post(`/agents/${agent}/runner-keys`, { name: 'runner' });
  const otherRunner = await post(`/agents/${second}/runner-keys`, { name: 'other runner' });
  const apiKey = await post('/api-keys', { name: 'spare' });
  const integration = await post('/webhook-integrations', { provider: 'github', agent_id: agent, label: 'Repo' });
  const resources: Resources = {
    tenant: id,
    agent,
    member: ids.member,
    user: ids.member,
    'role holder': ids.viewer,
    grantee: ids['granted viewer'],
    heir: ids.manager,
    'api key': apiKey.id,
    'runner key': runnerKey.id,
    integration: integration.id,
    delivery: await delivered(p, integration),
    'runner credential': (await credentialOf(p, id, agent)).id,
  };
  const sibling: Resources = { 'runner key': otherRunner.id, 'runner credential': (await credentialOf(p, id, second)).id };
  return { id, tenant, owner, ids, keys, runner: runnerKey.key, otherRunner: otherRunner.key, second, sibling, resources };
};

/** What somebody shows who came by the issuer: their address, as the platform of this world takes it. */
const tokenOf = (email: string): string => `${Buffer.from(email).toString('base64url')}.of.test`;
const verify = async (token: string) => ({ email: Buffer.from(token.split('.')[0]!, 'base64url').toString(), name: null });

const SIGNED_IN = 'signed.in@annals.test';
const LEFT = 'left@annals.test';

/** A tenant with an owner, a runner, and both people who sign in. */
const lateTenant = async (p: Platform, slug: string) => {
  const { id, tenant, key } = await createSecondTenant(p, slug);
  const agent = await sent(p, 'POST', `${tenant}/agents`, key, { name: 'One', slug: 'one' });
  const runner = await sent(p, 'POST', `${tenant}/agents/${agent.id}/runner-keys`, key, { name: 'runner' });
  await sent(p, 'POST', `${tenant}/members`, key, { email: SIGNED_IN, role: 'ADMIN' });
  if (slug === 'closed') await sent(p, 'POST', `${tenant}/members`, key, { email: LEFT, role: 'ADMIN' });
  return { id, key, runner: runner.key };
};

/** Tenants that were, and that are not now. */
const lateTenants = async (p: Platform) => {
  const [suspended, closed] = [await lateTenant(p, 'suspended'), await lateTenant(p, 'closed')];
  await sent(p, 'POST', `/admin/tenants/${suspended.id}/suspend`, p.key, { reason: 'a test' });
  const ctx = p.systemContext(closed.id);
  await ctx.transact(Tenant, closed.id, Tenant.close('a test', ctx.at()));
  await ctx.transact(Tenant, closed.id, Tenant.closeForGood(ctx.at()));
  return { suspended, closed };
};

/** What opened a tenant to super-admins once, and does no more: the time is over, or the tenant has shut them out. */
const shutAgain = async (p: Platform, home: Seeded, away: Seeded, outside: string, guest: string): Promise<void> => {
  const before = new Date(Date.now() - 1_000).toISOString();
  await p.systemContext(home.id).transact(Tenant, home.id, Tenant.openToSuperAdmin(outside, 'a test', before));
  await sent(p, 'POST', `/admin/tenants/${away.id}/break-glass`, guest, { reason: 'a test', minutes: 60 });
  await sent(p, 'PATCH', away.tenant, away.owner, { allow_superadmin_access: false });
};

type Seeded = Awaited<ReturnType<typeof tenantSeed>>;

const superAdmin = async (p: Platform, email: string) => {
  const ctx = p.systemContext();
  const { id } = await registerUser(ctx, email);
  await ctx.transact(User, id, User.grantSuperAdmin('a test'));
  const bound = { kind: 'platform', tenant_id: null, agent_id: null, owner_id: id } as const;
  return { user_id: id, key: (await issueKey(ctx, bound, { name: email, expires_at: null })).state.key };
};

/** Credentials that were good once. */
const spent = async (p: Platform, t: Seeded) => {
  const now = Date.now();
  // Its clock stands while the key is made: that must not take longer than the key counts.
  p.clock.now = () => now;
  const expires_at = new Date(now + 40).toISOString();
  const expired = await sent(p, 'POST', `${t.tenant}/api-keys`, t.owner, { name: 'expired', expires_at });
  p.clock.now = Date.now;
  const revoked = await sent(p, 'POST', `${t.tenant}/api-keys`, t.owner, { name: 'revoked' });
  await sent(p, 'DELETE', `${t.tenant}/api-keys/${revoked.id}`, t.owner);
  await sent(p, 'PATCH', `/api/v1/admin/users/${t.ids.suspended}`, p.key, { is_suspended: true });
  await sent(p, 'DELETE', `${t.tenant}/members/${t.ids.removed}`, t.owner);
  await sleep(50);
  return { expired: expired.key, revoked: revoked.key };
};

const platformSeed = async (p: Platform): Promise<Resources> => {
  const models = (await p.send('GET', '/admin/models')).body as Made[];
  const plans = (await p.send('GET', '/admin/plans')).body as Made[];
  const account = await sent(p, 'POST', '/admin/allowed-accounts', p.key, { email: 'somebody@allowed.test' });
  const key = await sent(p, 'POST', '/admin/api-keys', p.key, { name: 'spare' });
  return {
    model: models[0]!.id,
    plan: plans[0]!.id,
    'allowed account': account.id,
    'platform key': key.id,
    projection: 'agents',
    rebuild: `c${'0'.repeat(24)}`,
    'parked event': randomUUID(),
  };
};

/** What shows that something of a tenant is in an answer: ids and addresses. */
const marksOf = (slug: string, { ids, resources }: Seeded): readonly string[] => [
  ...Object.values(ids),
  ...Object.values(resources),
  `@${slug}.test`,
];

/** Two tenants with one of everything, and a key of everybody. Home is the first one. */
export const seeded = async () => {
  const p = await createInMemoryPlatform({ verify });
  await p.waitForProjections();
  const home = await tenantSeed(p, 'home');
  const away = await tenantSeed(p, 'away');
  const outside = await superAdmin(p, 'outside@annals.test');
  const guest = await superAdmin(p, 'guest@annals.test');
  await sent(p, 'POST', `/admin/tenants/${home.id}/break-glass`, guest.key, { reason: 'a test', minutes: 60 });
  const demoted = await superAdmin(p, 'demoted@annals.test');
  await sent(p, 'PATCH', `/api/v1/admin/users/${demoted.user_id}`, p.key, { is_super_admin: false });
  const bound = await superAdmin(p, 'bound@annals.test');
  await sent(p, 'POST', `${home.tenant}/members`, home.owner, { email: 'bound@annals.test' });
  const both = { email: 'both@annals.test', role: 'ADMIN' };
  await sent(p, 'POST', `${home.tenant}/members`, home.owner, both);
  const elsewhere = await sent(p, 'POST', `${away.tenant}/members`, away.owner, both);
  await sent(p, 'POST', `${home.tenant}/members`, home.owner, { email: SIGNED_IN, role: 'ADMIN' });
  const { suspended, closed } = await lateTenants(p);
  await shutAgain(p, home, away, outside.user_id, guest.key);
  const platform = await platformSeed(p);
  const { id: model } = await sent(p, 'POST', '/admin/models', p.key, {
    provider: 'p',
    slug: 'hidden',
    name: 'H',
    available_to_all_tenants: false,
  });
  const old = await spent(p, home);
  await p.waitForProjections();
  // That somebody came is noted once an hour: not while answers are looked at.
  await sent(p, 'GET', '/me', tokenOf(SIGNED_IN));
  await p.waitForProjections();
  const keys: Record<PrincipalName, string> = {
    ...home.keys,
    ...old,
    owner: home.owner,
    runner: home.runner,
    'other runner': home.otherRunner,
    'bound super-admin': await p.createKey(home.id, bound.user_id),
    stranger: away.owner,
    elsewhere: await p.createKey(away.id, elsewhere.user_id),
    'strange runner': away.runner,
    'super-admin': outside.key,
    guest: guest.key,
    demoted: demoted.key,
    'signed in': tokenOf(SIGNED_IN),
    left: tokenOf(LEFT),
    unknown: tokenOf('nobody@annals.test'),
    'of suspended tenant': suspended.key,
    'runner of suspended tenant': suspended.runner,
    'of closed tenant': closed.key,
    'runner of closed tenant': closed.runner,
    none: '',
    garbage: 'ann_notakey0_0000000000000000000000000000000000',
  };
  let stirred = 0;
  const document = openapi(p.operations, plainPaths as PlainPaths, 'http://annals.test');
  return {
    ...p,
    keys,
    document,
    own: { ...platform, ...home.resources },
    foreign: away.resources,
    /** Something happens in the other tenant. */
    stir: async (): Promise<void> => {
      await sent(p, 'PATCH', away.tenant, away.owner, { name: `Away ${stirred++}` });
      await p.waitForProjections();
    },
    sibling: home.sibling,
    hidden: { agent: home.second, model } as Resources,
    late: { suspended: suspended.id, closed: closed.id },
    marks: { home: marksOf('home', home), away: marksOf('away', away) },
  };
};
