import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';
import { given } from '../fixtures/given.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';

type Platform = Awaited<ReturnType<typeof createTestPlatform>>;
type Invitation = { user_id: string; tenant_id: string; url: string; token: string; expires_at: string };

const HOUR_MS = 3_600_000;

const bodyOf = <T = Record<string, unknown>>({ body }: Answer): T => body as T;
const codeOf = (answer: Answer) => [answer.status, bodyOf(answer).code];

/** Creates a tenant with an OWNER and the member `ada`. Only the OWNER has an API key. */
const tenantWithAda = async (p: Platform, role = 'MEMBER') => {
  const created = bodyOf<{ id: string; owner_key: string }>(
    await p.send('POST', '/admin/tenants', { body: { name: 'Acme', slug: 'acme', owner_email: 'owner@acme.test' } }),
  );
  const tenant = `/tenant/${created.id}`;
  const add = async (email: string, of: string) =>
    bodyOf<{ user_id: string }>(await p.send('POST', `${tenant}/members`, { key: created.owner_key, body: { email, role: of } })).user_id;
  const ada = await add('ada@acme.test', role);
  const invite = (key = created.owner_key, user_id = ada, headers = {}) =>
    p.send('POST', `${tenant}/members/${user_id}/invitation`, { key, headers });
  return { id: created.id, tenant, owner: created.owner_key, ada, add, invite };
};

const accept = (p: Platform, token: string, more: object = {}, headers = {}) =>
  p.send('POST', '/invitations/accept', { key: '', body: { token, ...more }, headers });

const tokenOf = (answer: Answer): string => {
  assert.is(answer.status, 201, answer.text);
  return bodyOf<Invitation>(answer).token;
};

test('accepting an invitation with its token returns an API key that has the role of the invited member', async () => {
  const p = await createTestPlatform();
  const { id, tenant, ada, invite } = await tenantWithAda(p);
  const issued = await invite();
  const { token, ...invitation } = bodyOf<Invitation>(issued);
  assert.equal(invitation, {
    user_id: ada,
    tenant_id: id,
    link: `http://annals.test/console/invitation#${token}`,
    url: 'http://annals.test/invitations/accept',
    expires_at: invitation.expires_at,
  });
  assert.ok(Math.abs(Date.parse(invitation.expires_at) - Date.now() - 72 * HOUR_MS) < 60_000, invitation.expires_at);
  const accepted = await accept(p, token, { name: 'Laptop' });
  assert.is(accepted.status, 201, accepted.text);
  const { key, name, id: keyId } = bodyOf<{ key: string; name: string; id: string }>(accepted);
  assert.is(name, 'Laptop');
  assert.is(accepted.headers.get('location'), `${tenant}/api-keys/${keyId}`);
  const me = bodyOf<{ user: { id: string; email: string } }>(await p.send('GET', '/me', { key }));
  assert.equal([me.user.id, me.user.email], [ada, 'ada@acme.test']);
  assert.is((await p.send('POST', `${tenant}/agents`, { key, body: { name: 'Hers', slug: 'hers' } })).status, 201);
  assert.is((await p.send('POST', `${tenant}/members`, { key, body: { email: 'eve@acme.test' } })).status, 403);
  await p.close();
});

test('an invitation can be accepted only once, and only the latest invitation of a member is valid', async () => {
  const p = await createTestPlatform();
  const { invite } = await tenantWithAda(p);
  const [first, second] = [tokenOf(await invite()), tokenOf(await invite())];
  assert.equal(codeOf(await accept(p, first)), [401, 'unauthorized']);
  const answers = await Promise.all([accept(p, second), accept(p, second), accept(p, second)]);
  assert.equal(answers.map(({ status }) => status).sort(), [201, 401, 401]);
  assert.equal(codeOf(await accept(p, second)), [401, 'unauthorized']);
  assert.is(p.eventsOf('MemberInvitationAccepted').length, 1);
  await p.close();
});

test('accepting an invitation is refused 72 hours after it was issued', async () => {
  const p = await createTestPlatform();
  const { invite } = await tenantWithAda(p);
  const [inTime, tooLate] = [tokenOf(await invite()), 72 * HOUR_MS + 1_000];
  p.clock.now = () => Date.now() + tooLate;
  const refused = await accept(p, inTime);
  assert.equal(codeOf(refused), [401, 'unauthorized']);
  assert.match(String(bodyOf(refused).detail), 'expired');
  p.clock.now = () => Date.now() + tooLate - 60_000;
  assert.is((await accept(p, inTime)).status, 201);
  await p.close();
});

test("after a member is removed, the member's invitation and the API key that the invitation gave are refused", async () => {
  const p = await createTestPlatform();
  const { tenant, owner, ada, add, invite } = await tenantWithAda(p);
  const token = tokenOf(await invite());
  assert.is((await p.send('DELETE', `${tenant}/members/${ada}`, { key: owner })).status, 204);
  assert.equal(codeOf(await accept(p, token)), [401, 'unauthorized']);
  await add('ada@acme.test', 'MEMBER');
  assert.equal(codeOf(await accept(p, token)), [401, 'unauthorized']);
  const { key } = bodyOf<{ key: string }>(await accept(p, tokenOf(await invite())));
  assert.is((await p.send('DELETE', `${tenant}/members/${ada}`, { key: owner })).status, 204);
  assert.equal(codeOf(await p.send('GET', '/me', { key })), [401, 'key_owner_inactive']);
  await p.close();
});

test('only an OWNER can invite an OWNER; accepting an invitation is refused while its issuer may not issue such an invitation', async () => {
  const p = await createTestPlatform();
  const { id, tenant, owner, ada, add, invite } = await tenantWithAda(p, 'ADMIN');
  const admin = await p.createKey(id, ada);
  const [grace, mary] = [await add('grace@acme.test', 'OWNER'), await add('mary@acme.test', 'MEMBER')];
  assert.equal(codeOf(await invite(admin, grace)), [403, 'forbidden']);
  assert.is((await invite(owner, grace)).status, 201);
  assert.equal(codeOf(await invite(await p.createKey(id, mary), ada)), [403, 'forbidden']);
  assert.is((await invite(owner, `c${'0'.repeat(24)}`)).status, 404);
  const change = (user_id: string, role: string) => p.send('PATCH', `${tenant}/members/${user_id}`, { key: owner, body: { role } });
  const token = tokenOf(await invite(admin, mary));
  await change(mary, 'OWNER');
  assert.equal(codeOf(await accept(p, token)), [401, 'unauthorized']);
  await change(mary, 'MEMBER');
  assert.equal(codeOf(await accept(p, token)), [401, 'unauthorized']);
  const again = tokenOf(await invite(admin, mary));
  await change(ada, 'AUDITOR');
  assert.equal(codeOf(await accept(p, again)), [401, 'unauthorized']);
  await change(ada, 'ADMIN');
  assert.is((await accept(p, again)).status, 201);
  await p.close();
});

test('an invitation that was issued with an API key limited to the role ADMIN is no longer valid after the invited member becomes OWNER', async () => {
  const p = await createTestPlatform();
  const { tenant, owner, ada, invite } = await tenantWithAda(p);
  const limited = bodyOf<{ key: string }>(
    await p.send('POST', `${tenant}/api-keys`, { key: owner, body: { name: 'Limited', role: 'ADMIN' } }),
  ).key;
  const token = tokenOf(await invite(limited));
  await p.send('PATCH', `${tenant}/members/${ada}`, { key: owner, body: { role: 'OWNER' } });
  assert.equal(codeOf(await invite(limited)), [403, 'forbidden']);
  assert.equal(codeOf(await accept(p, token)), [401, 'unauthorized']);
  await p.close();
});

test("when an invited member becomes OWNER, the member's API key stays limited to ADMIN if an ADMIN had invited the member, and gets OWNER if an OWNER had", async () => {
  const p = await createTestPlatform();
  const { id, tenant, owner, ada, add, invite } = await tenantWithAda(p);
  const mallory = await add('mallory@acme.test', 'ADMIN');
  const limited = bodyOf<{ key: string }>(
    await p.send('POST', `${tenant}/api-keys`, { key: owner, body: { name: 'Limited', role: 'ADMIN' } }),
  ).key;
  const results = [];
  for (const issuer of [await p.createKey(id, mallory), limited, owner]) {
    const accepted = bodyOf<{ key: string; role: string | null }>(await accept(p, tokenOf(await invite(issuer))));
    results.push({ ...accepted, issued: p.eventsOf('MemberInvitationIssued').at(-1)!.data as { max_role: string | null } });
  }
  assert.equal(
    results.map(({ role, issued }) => [role, issued.max_role]),
    [
      ['ADMIN', 'ADMIN'],
      ['ADMIN', 'ADMIN'],
      [null, null],
    ],
  );
  await p.send('PATCH', `${tenant}/members/${ada}`, { key: owner, body: { role: 'OWNER' } });
  await p.waitForProjections();
  const roles = [];
  for (const { key } of results) roles.push(bodyOf<{ tenants: { role: string }[] }>(await p.send('GET', '/me', { key })).tenants[0]!.role);
  assert.equal(roles, ['ADMIN', 'ADMIN', 'OWNER']);
  const promote = (key: string) => p.send('PATCH', `${tenant}/members/${mallory}`, { key, body: { role: 'OWNER' } });
  assert.equal(codeOf(await promote(results[0]!.key)), [403, 'forbidden']);
  assert.is((await promote(results[2]!.key)).status, 200);
  await p.close();
});

test('if the issuer of an invitation is no longer OWNER when the invitation is accepted, the API key of the invited user is limited to ADMIN', async () => {
  const p = await createTestPlatform();
  const { id, tenant, owner, add, invite } = await tenantWithAda(p);
  const grace = await add('grace@acme.test', 'OWNER');
  const token = tokenOf(await invite(await p.createKey(id, grace)));
  await p.send('PATCH', `${tenant}/members/${grace}`, { key: owner, body: { role: 'ADMIN' } });
  assert.is(bodyOf(await accept(p, token)).role, 'ADMIN');
  await p.close();
});

test('accepting an old invitation that does not contain the role of its issuer gives a key that is limited to ADMIN', () => {
  const data = { user_id: 'cada', digest: 'd', expires_at: '2026-01-04T00:00:00.000Z' };
  const { state } = given(
    Tenant,
    { type: 'TenantCreated', data: { name: 'T', slug: 't', plan_id: 'cp', billing_email: null, generation: 0 } },
    { type: 'MemberAdded', data: { user_id: 'cada', role: 'MEMBER' } },
    { type: 'MemberInvitationIssued', data },
  );
  assert.is(state.invitations.cada!.max_role, 'ADMIN');
});

test('accepting an invitation is refused while its issuer is suspended', async () => {
  const p = await createTestPlatform();
  const { id, add, invite } = await tenantWithAda(p);
  const admin = await add('admin@acme.test', 'ADMIN');
  const token = tokenOf(await invite(await p.createKey(id, admin)));
  const suspend = (is_suspended: boolean) => p.send('PATCH', `/api/v1/admin/users/${admin}`, { body: { is_suspended } });
  assert.is((await suspend(true)).status, 200);
  assert.equal(codeOf(await accept(p, token)), [401, 'unauthorized']);
  await suspend(false);
  assert.is((await accept(p, token)).status, 201);
  await p.close();
});

test('accepting an invitation is refused if the tenant is suspended or closed, or if the user is suspended', async () => {
  const p = await createTestPlatform();
  const { id, ada, invite } = await tenantWithAda(p);
  const token = tokenOf(await invite());
  const set = (path: string) => p.send('POST', `/admin/tenants/${id}/${path}`, { body: { reason: 'test' } });
  await set('suspend');
  assert.equal(codeOf(await accept(p, token)), [403, 'tenant_suspended']);
  await set('resume');
  const suspend = (is_suspended: boolean) => p.send('PATCH', `/api/v1/admin/users/${ada}`, { body: { is_suspended } });
  await suspend(true);
  assert.equal(codeOf(await accept(p, token)), [401, 'key_owner_inactive']);
  await suspend(false);
  assert.is((await accept(p, token)).status, 201);
  await p.close();
});

test('a request with a wrong invitation token counts as one with an invalid credential; every wrong token gets the same response', async () => {
  const p = await createTestPlatform({ limits: createRateLimiter() });
  const { invite } = await tenantWithAda(p);
  const token = tokenOf(await invite());
  const wrong = [
    'inv_',
    `${token}0`,
    token.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    'ann_notakey0_0000000000000000000000000000000000',
  ];
  for (const one of wrong) {
    const { detail, code } = bodyOf(await accept(p, one));
    assert.equal([code, detail], ['unauthorized', 'The invitation is not valid: ask for another one']);
  }
  assert.is((await accept(p, '')).status, 422);
  let last: Answer | undefined;
  for (let count = 0; count < RATE_LIMIT_POLICIES.badCredentials.quota; count++) last = await accept(p, wrong[0]!);
  assert.equal(codeOf(last!), [429, 'rate_limited']);
  assert.equal(codeOf(await accept(p, token)), [429, 'rate_limited']);
  await p.close();
});

test('repeating an invitation request with the same Idempotency-Key creates no second invitation and no second API key', async () => {
  const p = await createTestPlatform();
  const { invite, owner, ada } = await tenantWithAda(p);
  const once = { 'idempotency-key': 'once' };
  const token = tokenOf(await invite(owner, ada, once));
  assert.equal(codeOf(await invite(owner, ada, once)), [409, 'secret_already_shown']);
  assert.is((await accept(p, token, {}, once)).status, 201);
  assert.equal(codeOf(await accept(p, token, {}, once)), [409, 'secret_already_shown']);
  assert.is(p.eventsOf('MemberInvitationIssued').length, 1);
  await p.close();
});

test('if accepting an invitation was interrupted before the API key was created, it can be repeated', async () => {
  const p = await createTestPlatform();
  const { invite } = await tenantWithAda(p);
  const token = tokenOf(await invite());
  const append = p.log.append;
  const failing: typeof append = (stream, ...rest) =>
    stream.startsWith('apikey-') ? Promise.reject(new Error('the process dies here')) : append(stream, ...rest);
  Object.assign(p.log, { append: failing });
  assert.is((await accept(p, token)).status, 500);
  Object.assign(p.log, { append });
  assert.is((await accept(p, token)).status, 201);
  assert.is(p.eventsOf('MemberInvitationAccepted').length, 1);
  await p.close();
});

test('the log and the audit log contain the digest of an invitation token, but not the token; they name the issuer and the member', async () => {
  const p = await createTestPlatform();
  const { tenant, owner, ada, invite } = await tenantWithAda(p);
  const token = tokenOf(await invite());
  await accept(p, token);
  const [accepted] = p.eventsOf('MemberInvitationAccepted');
  assert.equal([accepted!.actor.kind, accepted!.actor.id], ['user', ada]);
  await p.waitForProjections();
  const entries = await p.send('GET', `${tenant}/audit-logs?limit=200`, { key: owner });
  assert.match(entries.text, 'member.invitation_issued');
  const [issued] = p.eventsOf('MemberInvitationIssued');
  assert.not.match(entries.text, (issued!.data as { digest: string }).digest);
  const secret = token.slice(-38);
  assert.not.match(
    JSON.stringify(p.log.events, (_, one) => (typeof one === 'bigint' ? String(one) : one)),
    secret,
  );
  await p.close();
});

test.run();
