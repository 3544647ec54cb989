import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { openapi } from '../../api/http/openapi.ts';
import { issueKey } from '../../commands/identity/api-key.ts';
import { registerUser } from '../../commands/identity/user.ts';
import * as User from '../../domain/identity/user.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { openapiDocument } from '../fixtures/openapi-document.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';
import type { PrincipalName } from './expected-access.ts';
import { PLAN_PRICE } from './id-positions.ts';
import {
  type Created,
  FREE_NAMES,
  type Platform,
  type Resources,
  type ResourceType,
  request,
  type SeededTenant,
  seedTenant,
} from './seed-tenant.ts';

export type Dataset = Awaited<ReturnType<typeof createDataset>>;

/**
 * Returns a sign-in token for the user with this e-mail address. The platform of this dataset accepts such tokens,
 * although no issuer has signed them.
 */
const tokenOf = (email: string): string => `${Buffer.from(email).toString('base64url')}.of.test`;
const verify = async (token: string) => ({ email: Buffer.from(token.split('.')[0]!, 'base64url').toString(), name: null });

const SIGNED_IN = 'signed.in@annals.test';
const LEFT = 'left@annals.test';

/** Creates a tenant with an owner and a runner key. Some of its members sign in with tokens. */
const seedInactiveTenant = async (p: Platform, slug: string) => {
  const { id, tenant, key } = await createSecondTenant(p, slug);
  const agent = await request(p, 'POST', `${tenant}/agents`, key, { name: 'One', slug: 'one' });
  const runner = await request(p, 'POST', `${tenant}/agents/${agent.id}/runner-keys`, key, { name: 'runner' });
  await request(p, 'POST', `${tenant}/members`, key, { email: SIGNED_IN, role: 'ADMIN' });
  if (slug === 'closed') await request(p, 'POST', `${tenant}/members`, key, { email: LEFT, role: 'ADMIN' });
  return { id, key, runner: runner.key };
};

/** Creates two tenants, and then suspends one and closes the other. */
const seedInactiveTenants = async (p: Platform) => {
  const [suspended, closed] = [await seedInactiveTenant(p, 'suspended'), await seedInactiveTenant(p, 'closed')];
  await request(p, 'POST', `/admin/tenants/${suspended.id}/suspend`, p.key, { reason: 'a test' });
  const ctx = p.systemContext(closed.id);
  await ctx.transact(Tenant, closed.id, Tenant.close('a test', ctx.at()));
  await ctx.transact(Tenant, closed.id, Tenant.closeForGood(ctx.at()));
  return { suspended, closed };
};

/**
 * Creates break-glass (temporary) access that is no longer valid. The access of the super-admin `outside` to the tenant
 * `home` has expired. The super-admin `guest` lost access to the tenant `away` when that tenant disallowed it.
 */
const endSuperAdminAccess = async (p: Platform, home: SeededTenant, away: SeededTenant, outside: string, guest: string): Promise<void> => {
  const before = new Date(Date.now() - 1_000).toISOString();
  await p.systemContext(home.id).transact(Tenant, home.id, Tenant.openToSuperAdmin(outside, 'a test', before));
  await request(p, 'POST', `/admin/tenants/${away.id}/break-glass`, guest, { reason: 'a test', minutes: 60 });
  await request(p, 'PATCH', away.tenant, away.owner, { allow_superadmin_access: false });
};

const createSuperAdmin = async (p: Platform, email: string) => {
  const ctx = p.systemContext();
  const { id } = await registerUser(ctx, email);
  await ctx.transact(User, id, User.grantSuperAdmin('a test'));
  const bound = { kind: 'platform', tenant_id: null, agent_id: null, owner_id: id } as const;
  return { user_id: id, key: (await issueKey(ctx, bound, { name: email, expires_at: null })).state.key };
};

/**
 * Creates credentials that are no longer valid: an expired key, a revoked key, the key of a suspended user, and the key
 * of a removed member.
 */
const createInvalidCredentials = async (p: Platform, t: SeededTenant) => {
  const now = Date.now();
  // Stop the clock until the key is created. Otherwise its expiry time could already be in the past.
  p.clock.now = () => now;
  const expires_at = new Date(now + 40).toISOString();
  const expired = await request(p, 'POST', `${t.tenant}/api-keys`, t.owner, { name: 'expired', expires_at });
  p.clock.now = Date.now;
  const revoked = await request(p, 'POST', `${t.tenant}/api-keys`, t.owner, { name: 'revoked' });
  await request(p, 'DELETE', `${t.tenant}/api-keys/${revoked.id}`, t.owner);
  await request(p, 'PATCH', `/api/v1/admin/users/${t.ids.suspended}`, p.key, { is_suspended: true });
  await request(p, 'DELETE', `${t.tenant}/members/${t.ids.removed}`, t.owner);
  await sleep(50);
  return { expired: expired.key, revoked: revoked.key };
};

const seedPlatform = async (p: Platform): Promise<Resources> => {
  const models = (await p.send('GET', '/admin/models')).body as Created[];
  const fallback = await request(p, 'POST', '/admin/models', p.key, { provider: 'p', slug: 'fallback', name: 'F' });
  const plans = (await p.send('GET', '/admin/plans')).body as Created[];
  const limits = { agents: 100, members: 100, cron_jobs: 100, webhooks_per_minute: 100 };
  await request(p, 'POST', '/admin/plans', p.key, { slug: 'priced', name: 'P', monthly_usd: 1, price_id: PLAN_PRICE, limits });
  const benchmark = { slug: 'seeded', display_name: 'B', dataset_uri: 'https://example.com/tasks.jsonl', evaluator_strategy: 'exact' };
  await request(p, 'POST', '/benchmarks', p.key, benchmark);
  const account = await request(p, 'POST', '/admin/allowed-accounts', p.key, { email: 'somebody@allowed.test' });
  const key = await request(p, 'POST', '/admin/api-keys', p.key, { name: 'spare' });
  await request(p, 'POST', '/admin/mail/heal', p.key, {});
  const [mailbox] = (await p.send('GET', '/admin/mailboxes')).body as Created[];
  return {
    mailbox: mailbox!.id,
    model: models[0]!.id,
    'fallback model': fallback.id,
    plan: plans[0]!.id,
    'benchmark slug': benchmark.slug,
    'allowed account': account.id,
    'platform key': key.id,
    projection: 'agents',
    rebuild: `c${'0'.repeat(24)}`,
    'parked event': randomUUID(),
  };
};

/**
 * Returns texts that show that a response contains data of this tenant: its ids, and the domain of its e-mail
 * addresses.
 */
const marksOf = (slug: string, { ids, resources }: SeededTenant): readonly string[] => [
  ...Object.values(ids),
  ...Object.entries(resources).flatMap(([type, id]) => (FREE_NAMES.includes(type as ResourceType) ? [] : [id])),
  `@${slug}.test`,
];

/** The OpenAPI document. Datasets share one copy, for which a check of responses is compiled only once. */
let document: ReturnType<typeof openapi> | undefined;

/** Creates two tenants (`home` and `away`) with one resource of every type, and a credential for every principal. */
export const createDataset = async () => {
  const p = await createTestPlatform({ verify });
  // Do not let the following requests wait for the projections: these then apply larger batches of events, which is
  // faster.
  p.projectionDelay.until = Promise.resolve();
  const home = await seedTenant(p, 'home');
  const away = await seedTenant(p, 'away');
  const outside = await createSuperAdmin(p, 'outside@annals.test');
  const guest = await createSuperAdmin(p, 'guest@annals.test');
  await request(p, 'POST', `/admin/tenants/${home.id}/break-glass`, guest.key, { reason: 'a test', minutes: 60 });
  const demoted = await createSuperAdmin(p, 'demoted@annals.test');
  await request(p, 'PATCH', `/api/v1/admin/users/${demoted.user_id}`, p.key, { is_super_admin: false });
  const bound = await createSuperAdmin(p, 'bound@annals.test');
  await request(p, 'POST', `${home.tenant}/members`, home.owner, { email: 'bound@annals.test' });
  const both = { email: 'both@annals.test', role: 'ADMIN' };
  await request(p, 'POST', `${home.tenant}/members`, home.owner, both);
  const elsewhere = await request(p, 'POST', `${away.tenant}/members`, away.owner, both);
  await request(p, 'POST', `${home.tenant}/members`, home.owner, { email: SIGNED_IN, role: 'ADMIN' });
  const { suspended, closed } = await seedInactiveTenants(p);
  await endSuperAdminAccess(p, home, away, outside.user_id, guest.key);
  const platform = await seedPlatform(p);
  await request(p, 'POST', `${home.tenant}/models/${platform.model}/agents`, home.owner, { agent_id: home.resources.agent });
  const { id: model } = await request(p, 'POST', '/admin/models', p.key, {
    provider: 'p',
    slug: 'hidden',
    name: 'H',
    available_to_all_tenants: false,
  });
  const old = await createInvalidCredentials(p, home);
  p.projectionDelay.until = undefined;
  await p.waitForProjections();
  // A user's first request in an hour appends an event. Make this request now, so that no event is appended while
  // responses are compared.
  await request(p, 'GET', '/me', tokenOf(SIGNED_IN));
  await p.waitForProjections();
  await signAuditHeads(p, [home.id, away.id]);
  const keys: Record<PrincipalName, string> = {
    ...home.keys,
    ...old,
    owner: home.owner,
    runner: home.runner,
    'other runner': home.otherRunner,
    'read-only owner': (await request(p, 'POST', `${home.tenant}/api-keys`, home.owner, { name: 'reader', read_only: true })).key,
    'limited owner': (await request(p, 'POST', `${home.tenant}/api-keys`, home.owner, { name: 'limited', role: 'MEMBER' })).key,
    'auditing owner': (await request(p, 'POST', `${home.tenant}/api-keys`, home.owner, { name: 'limited', role: 'AUDITOR' })).key,
    'limited admin': (await request(p, 'POST', `${home.tenant}/api-keys`, home.keys.admin, { name: 'limited', role: 'AUDITOR' })).key,
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
    'skill caller': home.skillToken,
    'of suspended tenant': suspended.key,
    'runner of suspended tenant': suspended.runner,
    'of closed tenant': closed.key,
    'runner of closed tenant': closed.runner,
    none: '',
    garbage: 'ann_notakey0_0000000000000000000000000000000000',
  };
  let changeCount = 0;
  document ??= openapiDocument<ReturnType<typeof openapi>>();
  return {
    ...p,
    keys,
    document,
    own: {
      ...platform,
      ...home.resources,
      'offered listing': home.resources.listing!,
      'listing slug': 'home',
      version: '1.0.0',
    } as Resources,
    foreign: away.resources,
    /** Changes the tenant `away`, which appends an event to its stream. */
    changeOtherTenant: async (): Promise<void> => {
      await request(p, 'PATCH', away.tenant, away.owner, { name: `Away ${changeCount++}` });
      await p.waitForProjections();
    },
    sibling: home.sibling,
    hidden: { agent: home.second, model, skill: home.privateSkill } as Resources,
    inactive: { suspended: suspended.id, closed: closed.id },
    marks: { home: marksOf('home', home), away: marksOf('away', away) },
  };
};
