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
import { closeTenants } from '../fixtures/close-tenants.ts';
import { deadline } from '../fixtures/load-factor.ts';
import { CLIENT, startIssuer } from '../fixtures/oidc-issuer.ts';
import { allowAccount, type SignInPlatform, SOMEBODY, signInTest } from '../fixtures/sign-in-platform.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

const bearer = (p: SignInPlatform['p'], token: string, path = '/me') => p.send('GET', path, { key: token });

signInTest(
  'a token of the issuer signs in a user with an allowed e-mail address; the user is registered at the first sign-in only',
  async (stage) => {
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
  },
);

signInTest(
  'a member with a token of the issuer has access to their own tenants only, and loses it when they are removed',
  async ({ p, issuer }) => {
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
  },
);

signInTest(
  'a new member whom the read model does not contain yet can sign in or gets 503; an unknown user is refused',
  async ({ p, issuer }) => {
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
  },
);

signInTest('a user is refused if their e-mail address is no longer allowed or the user is suspended', async (stage) => {
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

/**
 * Closes tenants for good: starts to close them, and then acts as if the period in which they can be reopened were
 * over.
 */
const closeForGood = async ({ p }: SignInPlatform, ...tenants: readonly { id: string; tenant: string; key: string }[]): Promise<void> => {
  for (const { tenant, key } of tenants) await p.send('POST', `${tenant}/close`, { key, body: { reason: 'a test' } });
  await closeTenants(
    p.log,
    tenants.map(({ id }) => id),
    new Date(Date.now() + 31 * 86_400_000).toISOString(),
  );
  assert.is(p.eventsOf('TenantClosed').length, tenants.length);
  await p.waitForProjections();
};

signInTest(
  'a user whose tenants are all closed for good is refused like an unknown user; one with another tenant is not',
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
    await closeForGood(stage, one, two);
    const refused = await bearer(p, tokens.gone);
    const stranger = await bearer(p, tokens.stranger);
    const comparable = ({ status, body }: typeof refused) => [status, { ...(body as object), request_id: '' }];
    assert.equal(comparable(refused), comparable(stranger));
    assert.is(refused.status, 403);
    for (const name of ['stays', 'admin', 'allowed'] as const) assert.is(await statusOf(name), 200, name);
    await p.send('POST', `${left.tenant}/close`, { key: left.key, body: { reason: 'a test' } });
    assert.is(await statusOf('closing'), 200);
    await p.send('POST', `/admin/tenants/${left.id}/suspend`, { body: { reason: 'a test' } });
    assert.is(await statusOf('closing'), 200);
    assert.is((await bearer(p, tokens.closing, `${left.tenant}/agents`)).status, 403);
  },
);

signInTest("if the log contains a user's name that was not cleaned, every read shows the same cleaned form of it", async (stage) => {
  const { p, issuer } = stage;
  await allowAccount(stage);
  const { id } = await registerUser(p.systemContext(), SOMEBODY, 'a\u0000b');
  const { user } = (await bearer(p, await issuer.sign())).body as { user: { id: string; name: string | null } };
  await p.waitForProjections();
  const rows = (await p.send('GET', '/api/v1/admin/users')).body as { id: string; name: string | null }[];
  assert.equal([user.id, user.name, rows.find((row) => row.id === id)!.name], [id, 'a b', 'a b']);
});

signInTest('a user with one open tenant can sign in, no matter how many closed tenants they joined before', async (stage) => {
  const { p, issuer } = stage;
  const { id: user_id } = await registerUser(p.systemContext(), SOMEBODY);
  const fields = { name: 'T', plan_id: defaultPlanId(p.systemContext().secrets), billing_email: null, generation: 0 };
  const createdIds: string[] = [];
  for (let index = 0; index < 201; index++) {
    const ctx = p.systemContext();
    const id = ctx.newId();
    await ctx.transact(Tenant, id, Tenant.create({ ...fields, slug: `t${index}` }, user_id), { tenant: id, expectNew: true });
    createdIds.push(id);
  }
  const live = createdIds.at(-1)!;
  const at = new Date(Date.now() - 1_000).toISOString();
  const close = async (id: string) => {
    for (const step of [Tenant.close('a test', at), Tenant.closeForGood(new Date().toISOString())])
      await p.systemContext(id).transact(Tenant, id, step);
  };
  for (const id of createdIds) if (id !== live) await close(id);
  await p.waitForProjections();
  const token = await issuer.sign();
  assert.is((await bearer(p, token)).status, 200);
  await close(live);
  assert.is((await bearer(p, token)).status, 403);
});

const encodePart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

signInTest('a token gets 401 unless it is an ID token of the issuer for this service', async (stage) => {
  const { p, issuer } = stage;
  await allowAccount(stage);
  const good = await issuer.sign();
  const [head, body, signature] = good.split('.') as [string, string, string];
  const now = Math.floor(Date.now() / 1_000);
  const foreign = await generateKeyPair('RS256');
  const publicPem = await exportSPKI(issuer.publicKey);
  const confused = `${encodePart({ alg: 'HS256', kid: 'first' })}.${body}`;
  const bad = {
    'no signature': `${encodePart({ alg: 'none' })}.${body}.`,
    'alg none with a signature': `${encodePart({ alg: 'none' })}.${body}.${signature}`,
    'public key as shared secret': `${confused}.${createHmac('sha256', publicPem).update(confused).digest('base64url')}`,
    'a foreign key': await issuer.sign({}, {}, foreign.privateKey),
    'a foreign key with its own key id': await issuer.sign({}, { kid: 'other' }, foreign.privateKey),
    'a key inside the token': await issuer.sign({}, { jwk: { kty: 'RSA' } }, foreign.privateKey),
    'another issuer': await issuer.sign({ iss: 'https://elsewhere.example' }),
    'another audience': await issuer.sign({ aud: 'other' }),
    'no audience': await issuer.sign({ aud: undefined as never }),
    expired: await issuer.sign({ exp: now - 60 }),
    'no expiry': await issuer.sign({ exp: undefined as never }),
    'not valid yet': await issuer.sign({ nbf: now + 120 }),
    'a logout token': await issuer.sign({}, { typ: 'logout+jwt' }),
    'issued in the future': await issuer.sign({ iat: now + 7_200 }),
    'a time of issue that is not a number': await issuer.sign({ iat: '0' as never }),
    'an address that is verified only as a text': await issuer.sign({ email_verified: 'true' }),
    'an address with a control character': await issuer.sign({ email: 'some\u0000body@example.com' }),
    'no address': await issuer.sign({ email: undefined as never }),
    'an unverified address': await issuer.sign({ email_verified: false }),
    'an address without email_verified': await issuer.sign({ email_verified: undefined as never }),
    'other claims': `${head}.${encodePart({ ...issuer.claims, email: 'admin@example.com' })}.${signature}`,
    truncated: good.slice(0, -4),
  };
  for (const [what, token] of Object.entries(bad)) {
    const answer = await bearer(p, token);
    assert.is(answer.status, 401, `${what}: ${answer.text}`);
    assert.ok((answer.headers.get('content-type') ?? '').includes('problem+json'));
  }
  assert.is((await bearer(p, await issuer.sign({ exp: now - 10 }))).status, 200, 'a clock skew of 10 s is accepted');
  assert.is((await bearer(p, await issuer.sign({ iat: now + 10 }))).status, 200, 'and in the time of issue');
  assert.is((await bearer(p, good)).status, 200);
});

signInTest('the name in a token is cleaned and truncated before it is stored, so that every read shows the same text', async (stage) => {
  const { p, issuer } = stage;
  const names = {
    nul: ['a\u0000b', 'a b'],
    escape: ['\u001b[31mred\n\u202eevil', '[31mred evil'],
    surrogate: ['a\ud800b', 'ab'],
    long: ['x'.repeat(9_000), 'x'.repeat(255)],
    blank: ['\u0000 \u200b', null],
  } as const;
  for (const [login, [name, expected]] of Object.entries(names)) {
    const email = `${login}@example.com`;
    await allowAccount(stage, email);
    const { user } = (await bearer(p, await issuer.sign({ email, name }))).body as { user: { id: string; name: string | null } };
    await p.waitForProjections();
    const rows = (await p.send('GET', '/api/v1/admin/users')).body as { id: string; name: string | null }[];
    assert.equal([user.name, rows.find(({ id }) => id === user.id)!.name], [expected, expected], login);
  }
});

signInTest(
  'tokens that are signed with a new key of the issuer are accepted; while the issuer cannot be reached, they get 503',
  async (stage) => {
    const { p, issuer } = stage;
    await allowAccount(stage);
    assert.is((await bearer(p, await issuer.sign())).status, 200);
    await issuer.close();
    const rotated = await startIssuer({ port: issuer.port, kid: 'second' });
    try {
      // The platform fetches the issuer's keys at most once in five seconds. Until then, it does not know the new key.
      let { status } = await bearer(p, await rotated.sign());
      for (const isOver = deadline(20_000); status === 401 && !isOver(); await sleep(100))
        ({ status } = await bearer(p, await rotated.sign()));
      assert.is(status, 200);
    } finally {
      await rotated.close();
    }
    const cold = await createTestPlatform({ issuer: { oidcIssuer: issuer.url, oidcAudience: CLIENT.id } });
    assert.is((await bearer(cold, await issuer.sign())).status, 503);
    const back = await startIssuer({ port: issuer.port });
    try {
      // The platform answers 503 until it can fetch the issuer's keys. After that it answers 403, because the user's
      // e-mail address is not on the allow list.
      while ((await bearer(cold, await back.sign())).status !== 403) await sleep(100);
    } finally {
      await back.close();
      await cold.close();
    }
  },
);

test('if the issuer does not return its signing keys, a request with a token gets 503, and the token does not count as a failed credential', async () => {
  const issuer = await startIssuer();
  issuer.failure.path = '/jwks';
  issuer.failure.how = 'fails';
  const p = await createTestPlatform({ issuer: { oidcIssuer: issuer.url, oidcAudience: CLIENT.id }, limits: createRateLimiter() });
  try {
    await allowAccount({ p, issuer });
    const token = await issuer.sign();
    for (let asks = 0; asks <= RATE_LIMIT_POLICIES.badCredentials.quota; asks++) {
      const answer = await bearer(p, token);
      assert.is(answer.status, 503, answer.text);
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
    }
    delete issuer.failure.path;
    assert.is((await bearer(p, token)).status, 200);
  } finally {
    await p.close();
    await issuer.close();
  }
});

test.run();
