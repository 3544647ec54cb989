import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportSPKI, generateKeyPair } from 'jose';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultPlanId } from '../../commands/billing/plan.ts';
import { registerUser } from '../../commands/identity/user.ts';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';
import { tenantCloser } from '../../infra/reactors/close-tenants.ts';
import { createInMemoryPlatform } from '../fixtures/in-memory-platform.ts';
import { CLIENT, startIssuer } from '../fixtures/oidc-issuer.ts';
import { allowAccount, type SignInPlatform, SOMEBODY, signInTest } from '../fixtures/sign-in-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

const bearer = (p: SignInPlatform['p'], token: string, path = '/me') => p.send('GET', path, { key: token });

signInTest('a token of the issuer lets in whom an administrator allowed, and registers them once', async (stage) => {
  const { p, issuer } = stage;
  const token = await issuer.sign({ name: 'Some Body' });
  assert.is((await bearer(p, token)).status, 403);
  assert.is(p.eventsOf('UserRegistered').length, 1);
  await allowAccount(stage);
  const [one, other] = await Promise.all([bearer(p, token), bearer(p, token)]);
  assert.is(one.status, 200, one.text);
  assert.is(other.status, 200);
  const { user } = one.body as { user: { email: string; name: string } };
  assert.equal([user.email, user.name], [SOMEBODY, 'Some Body']);
  assert.is(p.eventsOf('UserRegistered').length, 2);
  assert.is((await bearer(p, token, '/admin/api-keys')).status, 403);
  assert.is((await bearer(p, token, `${p.tenant}/agents`)).status, 404);
});

signInTest('a member comes in by their token, in their tenants alone, and not after the tenant has removed them', async ({ p, issuer }) => {
  const invited = await p.send('POST', `${p.tenant}/members`, { body: { email: SOMEBODY, role: 'ADMIN' } });
  await p.waitForProjections();
  const token = await issuer.sign();
  assert.is((await bearer(p, token, `${p.tenant}/agents`)).status, 200);
  assert.is((await bearer(p, token, '/admin/tenants')).status, 403);
  const { user_id } = invited.body as { user_id: string };
  assert.is((await p.send('DELETE', `${p.tenant}/members/${user_id}`)).status, 204);
  assert.is((await bearer(p, token, `${p.tenant}/agents`)).status >= 403, true);
  await p.waitForProjections();
  assert.is((await bearer(p, token)).status, 403);
});

signInTest('a member comes in before the view knows of them, or is told to wait; a stranger is turned away', async ({ p, issuer }) => {
  const token = await issuer.sign();
  const stranger = await issuer.sign({ sub: 'stranger', email: 'stranger@example.com' });
  p.projectionDelay.ms = 100;
  await p.send('POST', `${p.tenant}/members`, { body: { email: SOMEBODY, role: 'ADMIN' } });
  assert.is((await bearer(p, token, `${p.tenant}/members`)).status, 200);
  assert.is((await bearer(p, stranger)).status, 403);
  const open = Promise.withResolvers<void>();
  p.projectionDelay.until = open.promise;
  await p.send('POST', `${p.tenant}/members`, { body: { email: 'stranger@example.com' } });
  const early = await bearer(p, stranger);
  assert.equal([early.status, early.headers.get('retry-after') !== null], [503, true], early.text);
  p.projectionDelay.until = undefined;
  p.projectionDelay.ms = 0;
  open.resolve();
  assert.is((await bearer(p, stranger)).status, 200);
});

signInTest('an address that is disallowed again, and a user who is suspended, are out', async (stage) => {
  const { p, issuer } = stage;
  const account = await allowAccount(stage);
  const token = await issuer.sign();
  const { user } = (await bearer(p, token)).body as { user: { id: string } };
  await p.send('PATCH', `/api/v1/admin/users/${user.id}`, { body: { is_suspended: true } });
  assert.is((await bearer(p, token)).status, 403);
  await p.send('PATCH', `/api/v1/admin/users/${user.id}`, { body: { is_suspended: false } });
  assert.is((await bearer(p, token)).status, 200);
  await p.send('DELETE', `/admin/allowed-accounts/${(account.body as { id: string }).id}`);
  assert.is((await bearer(p, token)).status, 403);
});

/** Tenants that are closed for good from now on. */
const closedForGood = async ({ p }: SignInPlatform, ...tenants: readonly { id: string; tenant: string; key: string }[]): Promise<void> => {
  for (const { tenant, key } of tenants) await p.send('POST', `${tenant}/close`, { key, body: { reason: 'a test' } });
  await tenantCloser(p.log)(
    tenants.map(({ id }) => id),
    new Date(Date.now() + 31 * 86_400_000).toISOString(),
  );
  assert.is(p.eventsOf('TenantClosed').length, tenants.length);
  await p.waitForProjections();
};

signInTest(
  'whose every tenant is closed for good is a stranger; while one is left, or only closing or suspended, they go on',
  async (stage) => {
    const { p, issuer } = stage;
    const [one, two, left] = [await createSecondTenant(p, 'one'), await createSecondTenant(p, 'two'), await createSecondTenant(p, 'left')];
    const people = { gone: [one, two], stays: [one, left], closing: [one, left], admin: [one], allowed: [one] };
    const tokens = {} as Record<keyof typeof people | 'stranger', string>;
    for (const [name, tenants] of Object.entries(people)) {
      const email = `${name}@example.com`;
      for (const { tenant, key } of tenants) await p.send('POST', `${tenant}/members`, { key, body: { email } });
      tokens[name as keyof typeof people] = await issuer.sign({ email });
    }
    tokens.stranger = await issuer.sign({ email: 'stranger@example.com' });
    await allowAccount(stage, 'allowed@example.com');
    await p.waitForProjections();
    const statusOf = async (name: keyof typeof tokens) => (await bearer(p, tokens[name])).status;
    for (const name of Object.keys(people)) assert.is(await statusOf(name as keyof typeof people), 200, name);
    const { user } = (await bearer(p, tokens.admin)).body as { user: { id: string } };
    await p.send('PATCH', `/api/v1/admin/users/${user.id}`, { body: { is_super_admin: true } });
    await closedForGood(stage, one, two);
    const refused = await bearer(p, tokens.gone);
    const stranger = await bearer(p, tokens.stranger);
    const told = ({ status, body }: typeof refused) => [status, { ...(body as object), request_id: '' }];
    assert.equal(told(refused), told(stranger));
    assert.is(refused.status, 403);
    for (const name of ['stays', 'admin', 'allowed'] as const) assert.is(await statusOf(name), 200, name);
    await p.send('POST', `${left.tenant}/close`, { key: left.key, body: { reason: 'a test' } });
    assert.is(await statusOf('closing'), 200);
    await p.send('POST', `/admin/tenants/${left.id}/suspend`, { body: { reason: 'a test' } });
    assert.is(await statusOf('closing'), 200);
    assert.is((await bearer(p, tokens.closing, `${left.tenant}/agents`)).status, 403);
  },
);

signInTest('one tenant that lives is enough, however many closed ones come before it', async (stage) => {
  const { p, issuer } = stage;
  const { id: user_id } = await registerUser(p.systemContext(), SOMEBODY);
  const fields = { name: 'T', plan_id: defaultPlanId(p.systemContext()), billing_email: null, generation: 0 };
  const made: string[] = [];
  for (let index = 0; index < 201; index++) {
    const ctx = p.systemContext();
    const id = ctx.newId();
    await ctx.transact(Tenant, id, Tenant.create({ ...fields, slug: `t${index}` }, user_id), { tenant: id, expectNew: true });
    made.push(id);
  }
  const live = made.at(-1)!;
  const at = new Date(Date.now() - 1_000).toISOString();
  const close = async (id: string) => {
    for (const step of [Tenant.close('a test', at), Tenant.closeForGood(new Date().toISOString())])
      await p.systemContext(id).transact(Tenant, id, step);
  };
  for (const id of made) if (id !== live) await close(id);
  await p.waitForProjections();
  const token = await issuer.sign();
  assert.is((await bearer(p, token)).status, 200);
  await close(live);
  assert.is((await bearer(p, token)).status, 403);
});

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

signInTest('what is no token of this issuer for this service is 401', async (stage) => {
  const { p, issuer } = stage;
  await allowAccount(stage);
  const good = await issuer.sign();
  const [head, body, signature] = good.split('.') as [string, string, string];
  const now = Math.floor(Date.now() / 1_000);
  const foreign = await generateKeyPair('RS256');
  const publicPem = await exportSPKI(issuer.publicKey);
  const confused = `${part({ alg: 'HS256', kid: 'first' })}.${body}`;
  const bad = {
    'no signature': `${part({ alg: 'none' })}.${body}.`,
    'alg none with a signature': `${part({ alg: 'none' })}.${body}.${signature}`,
    'public key as shared secret': `${confused}.${createHmac('sha256', publicPem).update(confused).digest('base64url')}`,
    'a foreign key': await issuer.sign({}, {}, foreign.privateKey),
    'a foreign key by its own name': await issuer.sign({}, { kid: 'other' }, foreign.privateKey),
    'a key that the token brings': await issuer.sign({}, { jwk: { kty: 'RSA' } }, foreign.privateKey),
    'another issuer': await issuer.sign({ iss: 'https://elsewhere.example' }),
    'another audience': await issuer.sign({ aud: 'other' }),
    'no audience': await issuer.sign({ aud: undefined as never }),
    'too late': await issuer.sign({ exp: now - 60 }),
    'no end': await issuer.sign({ exp: undefined as never }),
    'too early': await issuer.sign({ nbf: now + 120 }),
    'a logout token': await issuer.sign({}, { typ: 'logout+jwt' }),
    'no address': await issuer.sign({ email: undefined as never }),
    'an address that nobody verified': await issuer.sign({ email_verified: false }),
    'an address of which it is not said': await issuer.sign({ email_verified: undefined as never }),
    'other claims': `${head}.${part({ ...issuer.claims, email: 'admin@example.com' })}.${signature}`,
    'cut off': good.slice(0, -4),
  };
  for (const [what, token] of Object.entries(bad)) {
    const answer = await bearer(p, token);
    assert.is(answer.status, 401, `${what}: ${answer.text}`);
    assert.ok((answer.headers.get('content-type') ?? '').includes('problem+json'));
  }
  assert.is((await bearer(p, await issuer.sign({ exp: now - 10 }))).status, 200, 'a clock that is 10 s behind');
  assert.is((await bearer(p, good)).status, 200);
});

signInTest('a key that the issuer has rotated to counts at once; an issuer that is away is 503', async (stage) => {
  const { p, issuer } = stage;
  await allowAccount(stage);
  assert.is((await bearer(p, await issuer.sign())).status, 200);
  await issuer.close();
  const rotated = await startIssuer({ port: issuer.port, kid: 'second' });
  try {
    // The keys are not asked for more often than every five seconds.
    await sleep(5_200);
    assert.is((await bearer(p, await rotated.sign())).status, 200);
  } finally {
    await rotated.close();
  }
  const cold = await createInMemoryPlatform({ issuer: { oidcIssuer: issuer.url, oidcAudience: CLIENT.id } });
  assert.is((await bearer(cold, await issuer.sign())).status, 503);
  const back = await startIssuer({ port: issuer.port });
  try {
    // Nobody has allowed the address, which is said once the issuer has been asked.
    while ((await bearer(cold, await back.sign())).status !== 403) await sleep(100);
  } finally {
    await back.close();
    await cold.close();
  }
});

test('keys that the issuer fails to give say nothing of a token: 503, and no guess of whoever bears it', async () => {
  const issuer = await startIssuer();
  issuer.trouble.path = '/jwks';
  issuer.trouble.how = 'fails';
  const p = await createInMemoryPlatform({ issuer: { oidcIssuer: issuer.url, oidcAudience: CLIENT.id }, limits: createRateLimiter() });
  try {
    await allowAccount({ p, issuer });
    const token = await issuer.sign();
    for (let asks = 0; asks <= RATE_LIMIT_POLICIES.badCredentials.quota; asks++) {
      const answer = await bearer(p, token);
      assert.is(answer.status, 503, answer.text);
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
    }
    delete issuer.trouble.path;
    assert.is((await bearer(p, token)).status, 200);
  } finally {
    await p.close();
    await issuer.close();
  }
});

test.run();
