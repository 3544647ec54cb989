import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAgent, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';
import { addMember } from '../fixtures/users.ts';
import { SECRET } from '../fixtures/webhook-platform.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const integration = await createIntegration(p, agent);
const body = { zen: 'Keep it logically awesome.' };
await deliver(p, integration, "pu'sh", body);
await deliver(p, integration, 'issues', { forged: 'never stored' }, { signature: 'sha256=forged' });
const [accepted, rejected] = [await findDelivery(p, 'accepted'), await findDelivery(p, 'rejected')];

const pageOf = async (path: string, session?: string): Promise<string> => {
  const answer = await p.open(`${p.base}${path}`, session);
  assert.is(answer.status, 200, answer.text.slice(0, 300));
  return answer.text;
};
const countsIn = (html: string): string[] => [...html.matchAll(/data-count="(\w+)">(\d+)/g)].map((found) => `${found[1]} ${found[2]}`);

test('the list of deliveries shows how many are in each state; a filter by state does not change these numbers', async () => {
  const counts = ['all 2', 'acknowledged 0', 'waiting 1', 'dead 0', 'blocked 0', 'rejected 1'];
  assert.equal(countsIn(await pageOf('/deliveries')), counts);
  for (const query of ['state=rejected', 'outcome=rejected']) {
    const filtered = await pageOf(`/deliveries?${query}`);
    assert.equal(countsIn(filtered), counts);
    assert.not.match(filtered, new RegExp(`data-id="${accepted}"`));
    assert.match(filtered, new RegExp(`data-id="${rejected}"`));
  }
});

test("the chart of deliveries covers the selected period; each bar links to the deliveries of the bar's time", async () => {
  const html = await pageOf('/deliveries?from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z');
  assert.match(html, /<chart-brush data-from="2026-01-01T00:00:00.000Z" data-to="2026-01-03T00:00:00.000Z">/);
  assert.match(html, /from=2026-01-01T00%3A00%3A00.000Z&amp;to=2026-01-01T01%3A00%3A00.000Z/);
  assert.match(html, /No delivery matches/);
});

test('a page that updates itself shows the new deliveries of each update, but reads the names of agents again only after some seconds', async () => {
  const renamed = await createAgent(p, 'Before');
  const hook = await createIntegration(p, renamed);
  await deliver(p, hook, 'first', {});
  const session = await p.signIn();
  const namesIn = (html: string): string[] => ['Before', 'After'].filter((name) => html.includes(`</svg> ${name}</td>`));
  const update = async (cookie: string) => {
    const { text } = await p.send('GET', `${p.base}/deliveries`, { key: '', headers: { cookie, 'x-console-refresh': '1' } });
    assert.is(Number(/data-stream="[^"]*after=(\d+)/.exec(text)![1]), Number(p.log.events.at(-1)!.position.commit));
    return [namesIn(text), /\/autocomplete\?[^"<]*types=agent/.test(text)];
  };
  assert.equal(namesIn(await pageOf('/deliveries', session)), ['Before']);
  await p.send('PATCH', `${p.tenant}/agents/${renamed}`, { body: { name: 'After' } });
  await deliver(p, hook, 'second', {});
  await p.waitForProjections();
  assert.equal(await update(session), [['Before'], true]);
  assert.equal(await update(await p.signIn()), [['After'], true], 'what another session has read is not shown');
  assert.equal(namesIn(await pageOf('/deliveries', session)), ['After']);
  assert.equal(await update(session), [['After'], true]);
});

test('if the API refuses a filter, the page shows the problem in place of the list, and keeps the chart and the navigation', async () => {
  const answer = await p.open(`${p.base}/deliveries?from=sometime`);
  assert.match(answer.text, /data-problem/);
  assert.match(answer.text, /<h1/);
});

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

test('a delivery shows its trace id, and those external links of the tenant for which it has all values', async () => {
  const external_links = [
    { label: 'Trace <1>', url: 'https://traces.example.com/trace/{trace_id}?tenant={tenant_id}' },
    { label: 'Logs', url: 'https://logs.example.com/?q={delivery_id}' },
  ];
  const set = await p.send('PATCH', p.tenant, { body: { external_links } });
  assert.equal([set.status, (set.body as { external_links: unknown }).external_links], [200, external_links]);
  const hook = await createIntegration(p, await createAgent(p, 'Traced'));
  const headers = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` };
  await deliver(p, hook, 'push', { traced: true }, { headers });
  const id = await findDelivery(p, `accepted&integration_id=${hook}`);
  const traced = await pageOf(`/deliveries/${id}?tab=facts`);
  const tenant_id = p.tenant.split('/').at(-1);
  assert.match(
    traced,
    new RegExp(
      `href="https://traces.example.com/trace/${TRACE_ID}\\?tenant=${tenant_id}" rel="noopener noreferrer" target="_blank">Trace &lt;1&gt;<`,
    ),
  );
  assert.match(traced, new RegExp(`href="https://logs.example.com/\\?q=${id}"`));
  const untraced = await pageOf(`/deliveries/${accepted}?tab=facts`);
  assert.not.match(untraced, /traces\.example\.com/);
  assert.match(untraced, new RegExp(`href="https://logs.example.com/\\?q=${accepted}"`));
  assert.is((await p.send('PATCH', p.tenant, { body: { external_links: null } })).status, 200);
  assert.not.match(await pageOf(`/deliveries/${accepted}?tab=facts`), /logs\.example\.com/);
});

test('external links lead from agents, events and sessions, too; a link is left out where one of its values does not exist', async () => {
  const external_links = [
    { label: 'Wiki', url: 'https://wiki.example.com/{id}' },
    { label: 'Requests', url: 'https://logs.example.com/?request={request_id}' },
    { label: 'Traces', url: 'https://traces.example.com/{trace_id}' },
    { label: 'Runs', url: 'https://runs.example.com/{delivery_id}' },
  ];
  assert.is((await p.send('PATCH', p.tenant, { body: { external_links } })).status, 200);
  const linksIn = async (path: string) =>
    [...(await pageOf(path)).matchAll(/href="(https:\/\/\w+\.example\.com[^"]*)" rel="noopener noreferrer"/g)].map(([, href]) => href);
  assert.equal(await linksIn(`/agents/${agent}`), [`https://wiki.example.com/${agent}`]);
  const created = p.eventsOf('AgentCreated')[0]!;
  const request = created.meta.$correlationId!;
  assert.equal(await linksIn(`/events/${created.event_id}`), [
    `https://wiki.example.com/${created.event_id}`,
    `https://logs.example.com/?request=${request}`,
  ]);
  const traced = p.eventsOf('WebhookAccepted').find(({ meta }) => meta.facts?.traceparent)!;
  assert.ok((await linksIn(`/events/${traced.event_id}`)).includes(`https://traces.example.com/${TRACE_ID}`));
  const session = await seedSession(p, agent, { delivery_id: accepted });
  assert.equal(await linksIn(`/sessions/${session.id}`), [
    `https://wiki.example.com/${session.id}`,
    `https://runs.example.com/${accepted}`,
  ]);
  assert.is((await p.send('PATCH', p.tenant, { body: { external_links: [] } })).status, 200);
});

test('for a forged delivery, the list of deliveries and the page of rejected deliveries show the reason and no body', async () => {
  const detail = await pageOf(`/deliveries/${rejected}`);
  assert.match(
    detail,
    /The signature has another form than expected[\s\S]*<dt>Expected<\/dt><dd>A signature with the secret of annals\/console/,
  );
  assert.match(detail, /<dt>Got<\/dt><dd>The header [\s\S]*How to connect the sender/);
  const reason = 'signature_malformed';
  assert.not.match(detail, /never stored/);
  assert.not.match(detail, /As signed curl/);
  const problems = await pageOf('/deliveries/problems');
  assert.match(problems, /data-kind="delivery-problem"/);
  assert.match(problems, new RegExp(`state=rejected&amp;integration_id=${integration}&amp;reason=${reason}`));
});

test('the page of a delivery shows curl commands that sign it again, and contain no secret', async () => {
  const html = await pageOf(`/deliveries/${accepted}?tab=curl`);
  assert.match(html, /data-text="curl -sf[^"]*openssl dgst -sha256 -hmac &quot;\$SECRET&quot;/);
  assert.not.ok(html.includes(SECRET));
});

test('the steps of a delivery are in the order of the log, and their durations add up to the time from the receipt to the last step', async () => {
  const hook = await createIntegration(p, agent);
  const { id } = await deliver(p, hook, 'push', { timed: true });
  const first = p.eventsOf('WebhookAccepted').findLast((event) => event.id === id)!;
  const again = (await p.send('POST', `${p.tenant}/deliveries/${id}/redeliver`, { body: {} })).body as { message_id: string };
  const after = (ms: number) => new Date(Date.parse(first.at) + ms).toISOString();
  const settle = (event_id: string, at: string, attempts: number) => ({
    delivery_id: id!,
    event_id,
    at,
    attempts,
    published_at: after(50),
  });
  const capture = { epoch: 'e', sequence: 1 };
  const meta = { tenant: p.tenant_id, actor: { kind: 'system', id: 'acknowledgements' } as const, at: after(9_000), v: 1 };
  await p.log.append(`acknowledgement-${p.tenant_id}.${agent}`, 'none', [
    {
      id: crypto.randomUUID(),
      type: 'DeliveryDeadLettered',
      data: { ...settle(first.event_id, after(8_765), 3), reason: 'max_deliveries', capture },
      meta,
    },
    {
      id: crypto.randomUUID(),
      type: 'DeliveriesAcknowledged',
      data: { deliveries: [settle(again.message_id, after(7_123), 1)], capture },
      meta,
    },
  ]);
  await p.waitForProjections();
  const html = await pageOf(`/deliveries/${id}`);
  const positions = [...html.matchAll(/data-step="" data-position="(\d+):\d+"/g)].map((found) => Number(found[1]));
  const logged = [first, p.eventsOf('DeliveryRequeued').findLast((event) => event.id === id)!].map(({ position }) =>
    Number(position.commit),
  );
  assert.equal(positions, logged);
  const received = (await p.send('GET', `${p.tenant}/deliveries/${id}`)).body as { received_at: string };
  const total = Date.parse(after(8_765)) - Date.parse(received.received_at);
  const shown = [...html.matchAll(/data-gap="(\d+)"/g)].map((found) => Number(found[1]));
  assert.ok(shown.length > 3);
  assert.is(
    shown.reduce((sum, gap) => sum + gap, 0),
    total,
  );
  assert.is(Number(/data-total="(\d+)"/.exec(html)![1]), total);
  const titles = [...html.matchAll(/<div class="step">([^<]*)/g)].map((found) => found[1]);
  const [sentAgain] = titles.splice(6, 1);
  assert.match(sentAgain!, /^Sent again by \S/);
  assert.equal(titles.slice(-5), ['Stored', 'Published', '3 attempts', 'Published', '1 attempt']);
  assert.match(await pageOf(`/deliveries/${id}?tab=facts`), /data-redeliveries="1"><span>1 more, last /);
});

test('a dead letter is sent again with the button of its page, which then shows the acknowledgement', async () => {
  const hook = await createIntegration(p, agent);
  const { id } = await deliver(p, hook, 'push', { hopeless: true });
  const path = `/deliveries/${id}`;
  const settle = (type: string, event_id: string, fields: object) => {
    const at = new Date().toISOString();
    const settled = { delivery_id: id!, event_id, at, attempts: 1, published_at: at };
    const capture = { epoch: 'e', sequence: 1 };
    const data = type === 'DeliveryDeadLettered' ? { ...settled, ...fields, capture } : { deliveries: [settled], capture };
    const meta = { tenant: p.tenant_id, actor: { kind: 'system', id: 'acknowledgements' } as const, at, v: 1 };
    return p.log.append(`acknowledgement-${p.tenant_id}.${agent}.${event_id}`, 'none', [{ id: crypto.randomUUID(), type, data, meta }]);
  };
  await settle('DeliveryDeadLettered', p.eventsOf('WebhookAccepted').findLast((event) => event.id === id)!.event_id, {
    reason: 'terminated',
  });
  await p.waitForProjections();
  assert.match(await pageOf(path), /The runner has not reported why/);
  for (const page of ['/deliveries/problems', '/deliveries?outcome=dead']) assert.match(await pageOf(page), /(no|without a) report/);
  const runner = (await p.send('POST', `${p.tenant}/agents/${agent}/runner-keys`, { body: { name: 'Runner' } })).body as { key: string };
  const report = { attempt: 1, outcome: 'failed', code: '3', reason: 'no <model>', stderr_tail: 'Error: <none>\n', seconds: 2 };
  assert.is((await p.send('POST', `${p.tenant}${path}/attempts`, { key: runner.key, body: report })).status, 204);
  await p.waitForProjections();
  assert.match(await pageOf('/deliveries?state=dead'), new RegExp(`${path}[\\s\\S]*failed \\(3\\): no &lt;model&gt;`));
  const group = /href="([^"]*problem=[^"]*)" class="row-link"><span class="event">no &lt;model&gt;<\/span><\/a><div class="quiet">code 3</;
  const [, href = ''] = group.exec(await pageOf('/deliveries/problems'))!;
  assert.match((await p.open(href.replaceAll('&amp;', '&'))).text, new RegExp(path));
  const dead = await pageOf(path);
  assert.match(
    dead,
    /data-state="dead"[\s\S]+<strong>no &lt;model&gt;<\/strong><span class="quiet">code 3, given up by the runner after 1 attempt[\s\S]+<pre>Error: &lt;none&gt;\n<\/pre>/,
  );
  assert.match(
    dead,
    /data-attempt="1" data-report="failed">[\s\S]*<td>2\.00 s<\/td><td class="result">given up by the runner: failed \(3\)/,
  );
  const fields = Object.fromEntries(submittedBy(formIn(dead, 'redeliverDelivery')));
  const sent = await p.submit('/console/run/redeliverDelivery', fields);
  assert.equal([sent.status, sent.headers.get('location')?.split('?')[0]], [303, p.base + path]);
  assert.match(await pageOf(`${path}?tab=facts`), /data-redeliveries="1"[\s\S]*, same bytes/);
  await settle('DeliveriesAcknowledged', p.eventsOf('DeliveryRequeued').findLast((event) => event.id === id)!.event_id, {});
  await p.waitForProjections();
  assert.match(
    await pageOf(path),
    /data-state="acknowledged"[\s\S]+Sent again by [\s\S]+acknowledged<[\s\S]+First message[\s\S]+given up by the runner: failed \(3\)/,
  );
  assert.not.match(await pageOf('/deliveries/problems'), new RegExp(path));
});

test('the page of a delivery shows the verdict of each guardrail, and the integration by its name', async () => {
  const html = await pageOf(`/deliveries/${accepted}`);
  const { guardrails } = (await p.send('GET', `${p.tenant}/deliveries/${accepted}`)).body as { guardrails: { rule: string }[] };
  assert.ok(guardrails.length > 0);
  assert.match(html, new RegExp(`<summary>${guardrails.length} guardrails? passed</summary>`));
  for (const { rule } of guardrails) assert.match(html, new RegExp(`<li>${rule.replaceAll('_', ' ')}</li>`));
  const known = await pageOf(`/deliveries/${accepted}?tab=facts`);
  assert.match(known, /<dt>Integration<\/dt><dd><a [^>]*>annals\/console<\/a>/);
  assert.match(known, /data-redeliveries="0">not sent again/);
});

test('the page of a delivery shows its session with the cost', async () => {
  const hook = await createIntegration(p, agent);
  const { id } = await deliver(p, hook, 'push', { session: true });
  const session = await seedSession(p, agent, { delivery_id: id! });
  await p.waitForProjections();
  const html = await pageOf(`/deliveries/${id}`);
  assert.match(html, new RegExp(`First message[\\s\\S]*/sessions/${session.id}"[\\s\\S]*data-cost="">, cost `));
  assert.match(await pageOf(`/deliveries/${id}?tab=facts`), /<dt>Cost<\/dt><dd>/);
});

test('each node of the payload has a button that copies its path; a value by which the list can be filtered links to the list', async () => {
  const hook = await createIntegration(p, agent);
  const { id } = await deliver(p, hook, 'opened', { action: 'opened', 'a/b': [{ 'c~d': 1 }] });
  await p.waitForProjections();
  const html = await pageOf(`/deliveries/${id}`);
  const pointers = [...html.matchAll(/class="json-tools" data-pointer="([^"]*)"/g)].map((found) => found[1]);
  assert.equal(pointers.toSorted(), ['/action', '/a~1b', '/a~1b/0', '/a~1b/0/c~0d']);
  assert.match(html, /data-pointer="\/action"><copy-button data-text="\/action">/);
  const links = [...html.matchAll(/href="([^"]*)" aria-label="Filter by this value"/g)].map((found) => found[1]);
  assert.equal(links, [`${p.base}/deliveries?event=opened`]);
});

test('a row of the list begins with the event, and names the integration', async () => {
  const list = await pageOf('/deliveries');
  assert.match(list, /<td class="main-cell"><a [^>]*class="row-link"><span class="event">/);
  assert.match(list, /<div class="quiet">github · annals\/console/);
});

test('a member sees neither the page of rejected deliveries nor deliveries of agents that they may not read', async () => {
  const member = await p.signIn((await addMember(p, 'MEMBER')).key);
  assert.is((await p.open(`${p.base}/deliveries/problems`, member)).status, 404);
  const list = await pageOf('/deliveries', member);
  assert.not.match(list, /deliveries\/problems/);
  assert.not.match(list, new RegExp(accepted));
});

test.after(() => p.close());
test.run();
