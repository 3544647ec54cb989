import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startConsole } from '../fixtures/console-platform.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const made = await p.send('POST', '/admin/tenants', { body: { name: 'Other', slug: 'other', owner_email: 'other@example.com' } });
const { id, owner_key } = made.body as { id: string; owner_key: string };
const agent = await p.send('POST', `/tenant/${id}/agents`, { key: owner_key, body: { name: 'Theirs', slug: 'theirs' } });
const base = `/console/t/${id}`;

test('for a super-admin who is not a member of a tenant, its pages look like unknown pages until the super-admin opens it with a reason', async () => {
  assert.is((await p.open(`${base}/agents`)).status, 404);
});

test('after break-glass, pages show the tenant without forms and without live updates, and say that each read is recorded', async () => {
  const opened = await p.send('POST', `/admin/tenants/${id}/break-glass`, { body: { reason: 'Support', minutes: 10 } });
  assert.is(opened.status, 201, opened.text);
  await p.waitForProjections();
  const { id: agent_id } = agent.body as { id: string };
  for (const path of ['', '/agents', `/agents/${agent_id}`, '/deliveries', '/audit', '/members', '/find?q=agent']) {
    const answer = await p.open(`${base}${path}`);
    assert.is(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`);
    assert.not.match(answer.text, /\/console\/run\//, `${path} has no form`);
    assert.not.match(answer.text, /data-stream=/, `${path} does not follow changes`);
  }
  assert.match((await p.open(`${base}/agents`)).text, /Not live: each read is recorded/);
  assert.is((await p.open(`/console/run/createAgent?tenant_id=${id}`)).status, 404);
  assert.ok(p.eventsOf('SuperAdminRead').length > 0);
});

test("during break-glass access, a page of the tenant has a red frame and names the end; the platform's page of the tenant leads back to the tenant", async () => {
  const { until } = p.eventsOf('SuperAdminAccessOpened')[0]!.data as { until: string };
  const { text } = await p.open(`${base}/agents`);
  assert.match(text, 'class="frame glass"');
  assert.match(text, `You are in this tenant under break-glass until ${until.slice(11, 16)} UTC; the tenant sees this`);
  assert.match(text, new RegExp(`<relative-time datetime="${until}"`));
  assert.match(text, /Tenant: [\s\S]*?<strong>Other<\/strong>/);
  assert.match((await p.open(`/console/platform/tenants/${id}`)).text, new RegExp(`href="${base}"[^>]*>Open the tenant`));
  assert.not.match((await p.open(p.base)).text, /frame glass|data-break-glass/);
});

test('after break-glass access has ended, the next page of the tenant gets 404 with the reason, and makes no API call that is refused', async () => {
  p.clock.now = () => Date.now() - 3_600_000;
  assert.is((await p.send('POST', `/admin/tenants/${id}/break-glass`, { body: { reason: 'Short', minutes: 1 } })).status, 201);
  p.clock.now = Date.now;
  const { until } = p.eventsOf('SuperAdminAccessOpened').at(-1)!.data as { until: string };
  await p.recordPending();
  const before = p.eventsOf('AccessRefused').length;
  const { status, text } = await p.open(`${base}/agents`);
  assert.is(status, 404);
  assert.match(text, `Your break-glass access to Other ended at ${until.slice(11, 16)} UTC`);
  assert.not.match(text, 'frame glass');
  const member = await p.signIn((await addMember(p, 'ADMIN')).key);
  assert.not.match((await p.open(`${base}/agents`, member)).text, /break-glass|Other/);
  await p.recordPending();
  assert.is(p.eventsOf('AccessRefused').length, before);
});

test('the form of break-glass asks for a reason and a time, and leads into the tenant, whose OWNER sees the entry and each read', async () => {
  const third = await p.send('POST', '/admin/tenants', { body: { name: 'Third', slug: 'third', owner_email: 'third@example.com' } });
  const { id: third_id, owner_key: third_key } = third.body as { id: string; owner_key: string };
  const owner = await p.signIn(third_key);
  const { text } = await p.open(`/console/platform/tenants/${third_id}`);
  const link = /href="(\/console\/run\/openTenant[^"]+)"[^>]*>(?:<[^>]+>)*Break glass/.exec(text)![1]!.replaceAll('&amp;', '&');
  const form = formIn((await p.open(link)).text, 'openTenant');
  const submit = (typed: Record<string, string>) => p.submit('/console/run/openTenant', Object.fromEntries(submittedBy(form, typed)));
  const refused = await submit({ '/reason': '', '/minutes': '10' });
  assert.is(refused.status, 422);
  assert.match(refused.text, /data-pointer="\/reason"[\s\S]*?class="field-error"/);
  const opened = await submit({ '/reason': 'Ticket 4711', '/minutes': '10' });
  assert.is(opened.status, 303, opened.text);
  const { event_id } = p.eventsOf('SuperAdminAccessOpened').at(-1)!;
  const into = opened.headers.get('location')!;
  assert.ok(into.startsWith(`/console/t/${third_id}?after=`), into);
  assert.match((await p.open(into)).text, /class="frame glass"/);
  for (const path of ['agents', 'members']) assert.is((await p.open(`/console/t/${third_id}/${path}`)).status, 200, path);
  await p.waitForProjections();
  const entries = (await p.open(`/console/t/${third_id}/audit`, owner)).text;
  // A tenant does not learn the names of people who are not its members.
  assert.match(entries, /class="sentence">A super-admin opened super-admin access to the tenant <a [^>]+>Third<\/a> until /);
  for (const read of ['agents', 'members'])
    assert.ok(entries.includes(`>A super-admin read data of the tenant as super-admin: GET /tenant/…/${read}<`), read);
  const entry = await p.open(`/console/t/${third_id}/audit?entry=${event_id}`, owner);
  assert.match(entry.text, /Ticket 4711/);
});

afterLastTest(() => p.close());

test.run();
