import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
await p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { description: '<b>bold</b>\u202eright' } });
const integration = await createIntegration(p, agent);
await deliver(p, integration, 'push', { zen: 'Keep it logically awesome.' });
const delivery = await findDelivery(p, 'accepted');
await p.send('POST', `${p.tenant}/agents/${agent}/sessions`, { body: { title: 'Review', delivery_id: delivery } });
await p.waitForProjections();

const eventOf = (type: string) => p.eventsOf(type as 'AgentCreated')[0]!;
const idsIn = (text: string, kind: string): string[] =>
  [...text.matchAll(new RegExp(`<(?:tr|li|div) data-kind="${kind}" data-id="([\\w-]+)"`, 'g'))].map((found) => found[1]!);

test('an audit log entry in the console shows the changed fields; opened, it shows its event with causes and effects', async () => {
  const updated = eventOf('AgentUpdated');
  const { text } = await p.open(`${p.base}/audit?entry=${updated.event_id}`);
  const entry = text.slice(text.indexOf(`id="e-${updated.event_id}"`)).split('data-kind="audit"')[0]!;
  assert.match(entry, /\/description[\s\S]*<del>—<\/del>[\s\S]*&lt;b&gt;bold&lt;\/b&gt;⟦U\+202E⟧right/);
  assert.match(entry, /<h2>Metadata<\/h2>[\s\S]*actor/);
  assert.match(entry, /<h2>Causes<\/h2>[\s\S]*<h2>Effects<\/h2>/);
  assert.match(entry, new RegExp(`<proof-check[^>]*data-event="${updated.event_id}" data-position="${updated.position.commit}:`));
});

test('the audit page keeps its filters in the URL; without matches, it offers to clear them', async () => {
  const { text } = await p.open(`${p.base}/audit?action=agent.updated&from=&resource_id=${agent}`);
  assert.equal(idsIn(text, 'audit'), [eventOf('AgentUpdated').event_id]);
  assert.match(text, /Filters \(1\)/);
  assert.match(text, /aria-label="Resource: Reviewer, remove this filter"/);
  assert.match((await p.open(`${p.base}/audit?action=nothing`)).text, /data-empty[\s\S]+Clear the filters/);
  const key = (p.log.events.find(({ actor }) => actor.key_id)!.actor as { key_id: string }).key_id;
  assert.ok(idsIn((await p.open(`${p.base}/audit?key_id=${key}`)).text, 'audit').length > 0);
});

test('the audit page shows what people did, by day, with names as links, and says how many entries it hides', async () => {
  const { text } = await p.open(`${p.base}/audit`);
  assert.equal(idsIn(text, 'audit').includes(eventOf('WebhookAccepted').event_id), false);
  assert.match(text, /<div class="message-day quiet">[A-Z][a-z]+day,? \d+ \w+ \d{4}<\/div>/);
  const created = text.slice(text.indexOf(`id="e-${eventOf('AgentCreated').event_id}"`)).split('data-kind="audit"')[0]!;
  assert.match(
    created,
    new RegExp(`<a href="${p.base}/members/\\w{25}" class="named">Administrator</a> created the agent <a href="${p.base}/agents/${agent}"`),
  );
  const hidden = Number(/>(\d+) entries of runners and the platform are not shown</.exec(text)![1]);
  const all = (await p.send('GET', `${p.tenant}/audit-logs?limit=200`)).body as { actor: { kind: string } }[];
  assert.is(hidden, all.filter(({ actor }) => actor.kind !== 'user').length);
  assert.ok(idsIn((await p.open(`${p.base}/audit?by=platform`)).text, 'audit').includes(eventOf('WebhookAccepted').event_id));
});

test('the audit page offers the actions that happened in words, and the people who did them by name', async () => {
  const { text } = await p.open(`${p.base}/audit`);
  assert.match(text, /<option value="agent\.created" data-detail="\d+">created an agent<\/option>/);
  assert.match(text, /<option value="\w{25}" data-detail="\d+">Administrator<\/option>/);
  const access = await p.open(`${p.base}/audit?category=members&by=all`);
  assert.ok(idsIn(access.text, 'audit').includes(eventOf('MemberAdded').event_id));
  assert.not.ok(idsIn(access.text, 'audit').includes(eventOf('AgentCreated').event_id));
});

test('the event browser lists every audited event of the tenant, with the newest or the oldest first', async () => {
  const listed = (await p.send('GET', `${p.tenant}/events?limit=50`)).body as { id: string }[];
  const ids = listed.map(({ id }) => id);
  assert.equal(idsIn((await p.open(`${p.base}/events?order=oldest`)).text, 'event'), ids);
  assert.equal(idsIn((await p.open(`${p.base}/events`)).text, 'event'), ids.toReversed());
  const ofAgents = idsIn((await p.open(`${p.base}/events?stream=agent-*&type=AgentUpdated`)).text, 'event');
  assert.equal(ofAgents, [eventOf('AgentUpdated').event_id]);
  assert.match((await p.open(`${p.base}/events?type=Nothing`)).text, /data-empty[\s\S]+Clear the filters/);
  assert.is((await p.open(`${p.base}/events?at=nonsense`)).status, 422);
});

test('the page of an event links to its neighbours, causes, effects, resources and request', async () => {
  const [created, updated, accepted, started] = ['AgentCreated', 'AgentUpdated', 'WebhookAccepted', 'SessionStarted'].map(eventOf);
  const first = (await p.open(`${p.base}/events/${created!.event_id}`)).text;
  assert.match(first, new RegExp(`/events/${updated!.event_id}" rel="next"`));
  assert.not.match(first, /rel="prev"/);
  assert.match(first, new RegExp(`href="${p.base}/agents/${agent}"`));
  assert.match(first, new RegExp(`correlation_id=${created!.meta.$correlationId}`));
  assert.match((await p.open(`${p.base}/events/${accepted!.event_id}`)).text, new RegExp(`<h2>Effects</h2>[\\s\\S]*${started!.event_id}`));
  assert.match((await p.open(`${p.base}/events/${started!.event_id}`)).text, new RegExp(`<h2>Causes</h2>[\\s\\S]*${accepted!.event_id}`));
});

test('the page of an unknown event looks like any unknown page', async () => {
  for (const id of [crypto.randomUUID(), 'nonsense']) assert.is((await p.open(`${p.base}/events/${id}`)).status, 404, id);
});

test('the page of audit heads lists each head with a check that runs in the browser; without a head, it says when the first one will be signed', async () => {
  assert.match((await p.open(`${p.base}/audit/heads`)).text, /data-empty[\s\S]*within five minutes/);
  await signAuditHeads(p, [p.tenant_id]);
  await createAgent(p, 'Later');
  await p.waitForProjections();
  await signAuditHeads(p, [p.tenant_id]);
  const { text } = await p.open(`${p.base}/audit/heads`);
  assert.is(idsIn(text, 'head').length, 2);
  assert.is([...text.matchAll(/<proof-check [^>]*data-head=/g)].length, 2);
  assert.match(text, /<table class="list data"><caption class="hidden">Signed heads[\s\S]*Audit log at this head[\s\S]*Events up to it/);
  assert.is([...text.matchAll(/data-before=/g)].length, 1, 'the newer head is compared with the older one');
  assert.match(text, /audit-logs\/export\?format=jsonl/);
  assert.match(text, /<script type="module" src="[^"]*proof-check\.mjs"/);
});

test('pages of resources link to their audit entries; two exports of a page with its filters have equal bytes', async () => {
  for (const [path, id] of [
    [`/integrations/${integration}`, integration],
    [`/deliveries/${delivery}`, delivery],
    [`/sessions/${p.eventsOf('SessionStarted')[0]!.id}`, p.eventsOf('SessionStarted')[0]!.id],
    ['/members', (p.eventsOf('MemberAdded')[0]!.data as { user_id: string }).user_id],
    ['/api-keys', p.eventsOf('ApiKeyCreated').find(({ data }) => (data as { kind?: string }).kind === 'tenant')?.id],
  ] as const) {
    const { text } = await p.open(`${p.base}${path}`);
    if (id) assert.match(text, new RegExp(`href="${p.base}/audit\\?about=${id}"`), path);
  }
  assert.ok(idsIn((await p.open(`${p.base}/audit?resource_id=${integration}`)).text, 'audit').length > 0);
  const { text } = await p.open(`${p.base}/audit?resource_id=${agent}`);
  for (const format of ['jsonl', 'csv', 'ocsf']) {
    const link = new RegExp(`href="(/tenant/[^"]+/export\\?format=${format}[^"]*)"`).exec(text)![1]!.replaceAll('&amp;', '&');
    assert.match(link, new RegExp(`to_position=\\d+%3A\\d+&resource_id=${agent}$`));
    const first = await p.send('GET', link);
    await createAgent(p, `Much later than ${format}`);
    const second = await p.send('GET', link);
    assert.is(first.status, 200, first.text);
    assert.ok(first.text.includes(agent), format);
    assert.is(second.text, first.text, format);
  }
});

test('the list of events and the history of an agent name the people who caused them', async () => {
  const named = /Administrator|admin@annals/;
  assert.match((await p.open(`${p.base}/events`)).text, named);
  const { text } = await p.open(`${p.base}/agents/${agent}/history`);
  assert.match(
    /<ol class="history">[\s\S]*?<\/ol>/.exec(text)![0],
    /<span class="sentence"><strong>Administrator<\/strong> created the agent /,
  );
  assert.not.match(text, /a person/);
});

test('the history of an agent is in sentences with the names at the time; an entry opens its changed fields', async () => {
  const registered = await p.send('POST', `${p.tenant}/tools`, {
    body: {
      name: 'search',
      display_name: 'Search',
      description: 'Finds',
      description_long: 'Finds texts.',
      input_schema: { type: 'object' },
    },
  });
  const tool = (registered.body as { id: string }).id;
  await p.send('POST', `${p.tenant}/agents/${agent}/tools`, { body: { tool_id: tool } });
  const { user_id, key } = await addMember(p, 'MEMBER', p.tenant_id, 'viewer@example.com');
  await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  await p.waitForProjections();
  const path = `${p.base}/agents/${agent}/history`;
  const { text } = await p.open(path);
  const said = [...text.matchAll(/<span class="sentence">(.*?)<\/span>/g)].map(([, sentence]) => sentence!.replaceAll(/<[^>]+>/g, ''));
  assert.ok(said.includes('Administrator granted the agent Reviewer the tool search'), said.join('\n'));
  assert.ok(said.includes('Administrator gave viewer@example.com the role VIEWER on the agent Reviewer'), said.join('\n'));
  assert.match(text, new RegExp(`<details><summary>[\\s\\S]*?<code>/tools/${tool}</code>`));
  for (const sentence of said) assert.not.match(sentence, /\bc[a-z0-9]{24}\b/);
  const reader = await p.open(path, await p.signIn(key));
  assert.is(reader.status, 200);
  assert.not.match(reader.text, /class="sentence"/, 'sentences need tenant:audit:read');
  assert.match(reader.text, /<strong>Agent tool granted<\/strong>/);
});

test('the list of events names its streams in words, and has each position once', async () => {
  const { text } = await p.open(`${p.base}/events`);
  assert.match(text, /API key c\w{3}…\w{4}, event 0/);
  assert.match(text, /data-label="Position"><span class="mono" title="(\d+):\1">\1</);
});

test('on the audit page, equal sentences in a row are one entry with their number, which leads to all of them', async () => {
  for (const voice of ['a', 'b', 'c']) await p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { voice } });
  await p.waitForProjections();
  const { text } = await p.open(`${p.base}/audit`);
  const [, href] = /<a href="([^"]+)" title="Show the 3 entries">3 ×, since/.exec(text)!;
  assert.is(idsIn((await p.open(href!.replaceAll('&amp;', '&'))).text, 'audit').length, 4);
});

afterLastTest(() => p.close());

test.run();
