import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import type { Reads } from '../../projections/read-model.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant, type TestPlatform } from '../fixtures/users.ts';

const refused = async () => {
  throw new Refusal('unavailable', 'unavailable', { retryAfter: 5 });
};
/** Two kinds of outages: either queries fail immediately (`down`), or they fail only after 2 s (`silent`). */
const FAILURES = { down: refused, silent: () => new Promise<never>((_, reject) => setTimeout(() => refused().catch(reject), 2_000)) };

/**
 * Replaces every query of the read models by the failing function `one`. @returns a function that restores the queries
 */
const makeUnavailable = (p: TestPlatform, one: () => Promise<never>): (() => void) => {
  const reads = p.reads as { -readonly [Name in keyof Reads]: Reads[Name] };
  const before = { ...reads };
  Object.assign(reads, { one, page: one, counter: one });
  return () => void Object.assign(reads, before);
};

type Tenant = { status: string; member_count: number; agent_count: number };
type User = { is_suspended: boolean; tenant_count: number; primary_tenant: { id: string } | null };

for (const [name, failure] of Object.entries(FAILURES))
  test(`while the read models ${name === 'down' ? 'are down' : 'do not respond'}, mutations succeed, with the last known numbers of agents, members and tenants`, async () => {
    const p = await createTestPlatform();
    const known = await createSecondTenant(p, 'known');
    const other = await createSecondTenant(p, 'other');
    await p.send('POST', `${known.tenant}/agents`, { key: known.key, body: { name: 'A', slug: 'a' } });
    const { user_id } = await addMember(p, 'MEMBER');
    await p.waitForProjections();
    const change = async (method: string, path: string, body: object) => {
      const started = performance.now();
      const answer = await p.send(method, path, { body });
      assert.is(answer.status, 200, `${method} ${path}: ${answer.text}`);
      assert.ok(performance.now() - started < 1_500, `${method} ${path} took ${performance.now() - started} ms`);
      return answer.body as Tenant & User;
    };
    const reason = { reason: 'unpaid' };
    await change('PATCH', `/admin/tenants/${known.id}`, { paid: true });
    await change('PATCH', `/api/v1/admin/users/${user_id}`, { is_super_admin: false });
    const back = makeUnavailable(p, failure);
    const suspended = await change('POST', `/admin/tenants/${known.id}/suspend`, reason);
    assert.equal([suspended.status, suspended.member_count, suspended.agent_count], ['suspended', 1, 1]);
    assert.is((await change('POST', `/admin/tenants/${other.id}/suspend`, reason)).agent_count, 0);
    assert.is((await change('POST', `/admin/tenants/${other.id}/resume`, reason)).status, 'active');
    assert.is((await change('PATCH', `/admin/tenants/${known.id}`, { name: 'Renamed', ...reason })).agent_count, 1);
    const user = await change('PATCH', `/api/v1/admin/users/${user_id}`, { is_suspended: true });
    assert.equal([user.is_suspended, user.tenant_count, user.primary_tenant?.id], [true, 1, p.tenant_id]);
    assert.is((await p.send('GET', `/admin/tenants/${known.id}`)).status, 503);
    assert.is((await p.send('GET', '/api/v1/admin/users')).status, 503);
    back();
    await p.waitForProjections();
    assert.is((await p.send('GET', `/admin/tenants/${known.id}`)).status, 200);
    assert.equal(p.unappliedEvents(), []);
    await p.close();
  });

test('while the read models do not respond, agents can be created, and only the first creation waits for the read models', async () => {
  const p = await createTestPlatform();
  const back = makeUnavailable(p, FAILURES.silent);
  const create = (slug: string) => p.send('POST', `${p.tenant}/agents`, { body: { name: slug, slug } });
  assert.is((await create('a')).status, 201);
  const started = performance.now();
  assert.is((await create('b')).status, 201);
  assert.ok(performance.now() - started < 1_000, `${performance.now() - started} ms`);
  back();
  await p.close();
});

test.run();
