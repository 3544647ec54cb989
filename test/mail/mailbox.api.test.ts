import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;
const p = await createTestPlatform();

let count = 0;
const newAgent = async (): Promise<{ id: string; slug: string }> => {
  const { body } = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: `agent-${count++}` } });
  return body as { id: string; slug: string };
};
const heal = async (body: Json = {}) => (await p.send('POST', '/admin/mail/heal', { body })).body as Json;
const mailboxesOf = async (agent: string) => (await p.send('GET', `${p.tenant}/agents/${agent}/mailboxes`)).body as Json[];
const listed = async (query: string) => (await p.send('GET', `/admin/mailboxes?${query}`)).body as Json[];
const allow = (external_mail_enabled: boolean) => p.send('PATCH', p.tenant, { body: { external_mail_enabled } });
const pause = (id: unknown, is_paused: boolean) => p.send('PATCH', `/admin/mailboxes/${id}`, { body: { is_paused } });

test('a heal request that names no service creates the missing internal mailboxes of agents; repeating the request changes nothing', async () => {
  const [first, second] = [await newAgent(), await newAgent()];
  assert.equal(await heal(), { provisioned: 2, provisioning_enabled: true });
  assert.equal(await heal({ service: 'internal' }), { provisioned: 0, provisioning_enabled: true });
  const third = await newAgent();
  assert.equal(await heal(), { provisioned: 1, provisioning_enabled: true });
  for (const { id, slug } of [first, second, third]) {
    const [mailbox, ...others] = await mailboxesOf(id);
    assert.is(others.length, 0);
    const fields = omit(mailbox!, 'id', 'created_at');
    assert.equal(fields, { address: `${slug}.demo@mail.test`, kind: 'internal', is_active: true });
  }
  const events = p.eventsOf('MailboxProvisioned');
  assert.is(events.length, 3);
  assert.ok(events.every(({ meta }) => meta.tenant === p.tenant_id));
});

test('repeating a heal request with its Idempotency-Key returns the first response', async () => {
  await newAgent();
  const headers = { 'idempotency-key': 'heal-1' };
  const first = await p.send('POST', '/admin/mail/heal', { body: {}, headers });
  const repeat = await p.send('POST', '/admin/mail/heal', { body: {}, headers });
  assert.equal(repeat.body, first.body);
  assert.equal((repeat.body as Json).provisioned, 1);
});

test('a heal request adjusts external mailboxes to changed settings of the tenant and the agent, with one event for each change', async () => {
  const { id, slug } = await newAgent();
  assert.equal((await heal({ service: 'external' })).provisioned, 0, 'the tenant does not allow it');
  await allow(true);
  assert.ok(((await heal({ service: 'external' })).provisioned as number) > 0);
  const external = async () => (await mailboxesOf(id)).find(({ kind }) => kind === 'external')!;
  assert.equal([(await external()).address, (await external()).is_active], [`${slug}.demo@mail.test`, true]);
  const ofKind = async (kind: string) => (await p.send('GET', `${p.tenant}/agents/${id}/mailboxes?kind=${kind}`)).body as Json[];
  assert.equal(await ofKind('external'), [await external()]);
  assert.equal(
    (await ofKind('internal')).every(({ kind }) => kind === 'internal'),
    true,
  );
  await p.send('PATCH', `${p.tenant}/agents/${id}`, { body: { external_mail_enabled: false } });
  await heal({ service: 'external' });
  assert.is((await external()).is_active, false);
  await heal({ service: 'external' });
  const changes = p.eventsOf('MailboxDisabled', 'MailboxEnabled').filter((event) => (event.data as Json).agent_id === id);
  assert.equal(
    changes.map(({ type }) => type),
    ['MailboxDisabled'],
  );
  await p.send('PATCH', `${p.tenant}/agents/${id}`, { body: { external_mail_enabled: true } });
  assert.is((await heal({ service: 'external' })).provisioned, 0, 'the mailbox exists');
  assert.is((await external()).is_active, true);
});

test('a paused mailbox stays paused until a super-admin resumes it, even if heal requests disable and enable it in between', async () => {
  const { id } = await newAgent();
  await allow(true);
  await heal({ service: 'external' });
  const [{ id: mailbox }] = (await mailboxesOf(id)) as [Json];
  const paused = await pause(mailbox, true);
  assert.equal([paused.status, (paused.body as Json).is_paused, (paused.body as Json).agent_name], [200, true, 'Agent']);
  await allow(false);
  await heal({ service: 'external' });
  await allow(true);
  await heal({ service: 'external' });
  assert.is((await mailboxesOf(id))[0]!.is_active, false);
  const before = p.log.events.length;
  assert.is(((await pause(mailbox, true)).body as Json).is_paused, true);
  assert.is(p.log.events.length, before, 'a mailbox that is paused already gets no event');
  assert.is(((await pause(mailbox, false)).body as Json).is_paused, false);
  assert.is((await mailboxesOf(id))[0]!.is_active, true);
});

test('the list of mailboxes can be filtered by a part of the address and by is_paused', async () => {
  const { id, slug } = await newAgent();
  await heal();
  const found = await listed(`q=${slug}.DEMO`);
  assert.is(found.length, 1);
  const { id: mailbox, tenant_id, ...fields } = omit(found[0]!, 'created_at', 'updated_at');
  assert.equal(fields, {
    address: `${slug}.demo@mail.test`,
    kind: 'internal',
    agent_id: id,
    message_count: 0,
    last_message_at: null,
    is_paused: false,
    tenant_name: 'Demo',
    agent_name: 'Agent',
  });
  assert.is(tenant_id, p.tenant_id);
  assert.equal(await listed(`q=${slug}.demo&is_paused=true`), []);
  await pause(mailbox, true);
  assert.is((await listed(`q=${slug}.demo&is_paused=true`)).length, 1);
  await p.send('DELETE', `${p.tenant}/agents/${id}`);
  assert.is((await listed(`q=${slug}.demo`))[0]!.agent_name, null);
});

test('without a mail domain, a heal request changes nothing, and its response says why', async () => {
  const without = await createTestPlatform({ mail: { domain: null, hasSmtp: false } });
  await without.send('POST', `${without.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } });
  const { status, body } = await without.send('POST', '/admin/mail/heal', { body: { service: 'internal' } });
  assert.equal([status, body], [200, { provisioned: 0, provisioning_enabled: false }]);
  assert.is(without.eventsOf('MailboxProvisioned').length, 0);
  await without.close();
});

test('a heal request with an unknown service or field gets 422; with an unknown mailbox it gets 404', async () => {
  for (const body of [{ service: 'both' }, { service: 'internal', more: 1 }])
    assert.is((await p.send('POST', '/admin/mail/heal', { body })).status, 422);
  assert.is((await pause(`c${'0'.repeat(24)}`, true)).status, 404);
});

afterLastTest(() => p.close());
test.run();
