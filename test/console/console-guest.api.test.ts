import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();
const made = await p.send('POST', '/admin/tenants', { body: { name: 'Other', slug: 'other', owner_email: 'other@example.com' } });
const { id, owner_key } = made.body as { id: string; owner_key: string };
const agent = await p.send('POST', `/tenant/${id}/agents`, { key: owner_key, body: { name: 'Theirs', slug: 'theirs' } });
const base = `/console/t/${id}`;

test('a super-admin who is not a member gets the page of an unknown address until the tenant is opened with a reason', async () => {
  assert.is((await p.open(`${base}/agents`)).status, 404);
});

test('after break-glass, pages show the tenant without forms and without live updates, and say that each read is recorded', async () => {
  const opened = await p.send('POST', `/admin/tenants/${id}/break-glass`, { body: { reason: 'Support', minutes: 10 } });
  assert.is(opened.status, 201, opened.text);
  await p.waitForProjections();
  const { id: agent_id } = agent.body as { id: string };
  for (const path of ['', '/agents', `/agents/${agent_id}`, '/deliveries', '/audit', '/members']) {
    const answer = await p.open(`${base}${path}`);
    assert.is(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`);
    assert.not.match(answer.text, /\/console\/run\//, `${path} has no form`);
    assert.not.match(answer.text, /data-stream=/, `${path} does not follow changes`);
  }
  assert.match((await p.open(`${base}/agents`)).text, /Not live: each read is recorded/);
  assert.is((await p.open(`/console/run/createAgent?tenant_id=${id}`)).status, 404);
  assert.ok(p.eventsOf('SuperAdminRead').length > 0);
});

test('the platform closes', () => p.close());

test.run();
