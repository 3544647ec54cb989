import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { consolePages } from '../../api/console-pages.ts';
import { tokenOf } from '../../domain/event.ts';
import { type OpenedProjectionAdmin, openProjectionAdmin } from '../../infra/projector/projection-admin.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import {
  type ConsolePlatform,
  createAgent,
  createCronJob,
  createIntegration,
  deliver,
  findDelivery,
  startConsole,
} from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { normalizedHtml } from '../fixtures/html-form.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { readModelDatabase } from '../fixtures/template-database.ts';
import { addMember } from '../fixtures/users.ts';

const databaseUrl = await readModelDatabase();
let projectionAdmin: OpenedProjectionAdmin | undefined;
const p = await startConsole({
  createProjectionAdmin: (log) => {
    projectionAdmin = openProjectionAdmin(databaseUrl, log, silentLogger);
    return projectionAdmin;
  },
});
const rebuild = (await p.send('POST', '/admin/projections/agents/rebuild')).body as { id: string };
const agent = await createAgent(p, 'Reviewer');
const integration = await createIntegration(p, agent);
await deliver(p, integration, 'push', { zen: 'Keep it logically awesome.' });
await deliver(p, integration, 'issues', { action: 'opened' }, { signature: 'sha256=forged' });

const session = await seedSession(p, agent);
const job = await createCronJob(p, agent);
const replay = (await p.send('POST', `${p.tenant}/deliveries/replay`, { body: {} })).body as { id: string };
const createNamed = async (path: string, body: object): Promise<string> =>
  ((await p.send('POST', `${p.tenant}/${path}`, { body })).body as { id: string }).id;
const skill = await createNamed('skills', { name: 'Triage', slug: 'triage', description: 'Sorts', instructions: 'Sort.' });
const tool = await createNamed('tools', { name: 'search', display_name: 'Search', description: 'Searches' });
const accepted = await findDelivery(p, 'accepted');
const rejected = await findDelivery(p, 'rejected');

/** Returns the URL of a page, with the parameters of its path replaced by ids of existing resources. */
const urlOf = (path: string, { tenant_id }: Pick<ConsolePlatform, 'tenant_id'> = p): string =>
  path
    .replace(':tenant_id', tenant_id)
    .replace(':agent_id', agent)
    .replace(':delivery_id', accepted)
    .replace(':integration_id', integration)
    .replace(':session_id', session.id)
    .replace(':skill_id', skill)
    .replace(':tool_id', tool)
    .replace(':user_id', (p.eventsOf('MemberAdded')[0]!.data as { user_id: string }).user_id)
    .replace(':tenant_job_id', replay.id)
    .replace(':job_id', job)
    .replace(':event_id', p.eventsOf('AgentCreated')[0]!.event_id)
    .replace(':name', 'agents')
    .replace(':rebuild', rebuild.id)
    .replace('/:id', `/${tenant_id}`);

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const MAX_PAGE_GZIP = 14_000;

test('every page of the console has the security headers and one h1, but no inline script or style and nothing from another host', async () => {
  for (const { path } of consolePages) {
    const answer = await p.open(urlOf(path));
    assert.is(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`);
    const { headers, text } = answer;
    assert.is(headers.get('content-security-policy'), POLICY, path);
    assert.equal(
      ['cross-origin-opener-policy', 'cross-origin-resource-policy', 'referrer-policy', 'cache-control', 'x-content-type-options'].map(
        (name) => headers.get(name),
      ),
      ['same-origin', 'same-origin', 'same-origin', 'no-store', 'nosniff'],
      path,
    );
    assert.is(text.match(/<h1/g)?.length, 1, path);
    assert.not.match(text, /<style|<script(?![^>]* src=)| style="| on[a-z]+="|hx-on|js:/, path);
    assert.not.match(text.replaceAll(/<(pre|code)[\s\S]*?<\/\1>|data-text="[^"]*"/g, ''), /(src|href|action)="(https?:)?\/\//, path);
    assert.ok(gzipSync(text).length <= MAX_PAGE_GZIP, `${path}: ${gzipSync(text).length} bytes`);
  }
});

test('without a session, every page of the console redirects to the sign-in, which then leads back to the page', async () => {
  for (const { path } of consolePages) {
    const answer = await p.open(`${urlOf(path)}?a=1`, '');
    assert.is(answer.status, 303, path);
    assert.is(answer.headers.get('location'), `/console/sign-in?return_to=${encodeURIComponent(`${urlOf(path)}?a=1`)}`, path);
  }
});

test('a page that the visitor may not see looks the same as an unknown page', async () => {
  const stranger = await p.signIn((await addMember(p, 'MEMBER')).key);
  const unknown = await p.open(`${p.base}/agents/c${'0'.repeat(24)}`, stranger);
  const hidden = await p.open(`${p.base}/agents/${agent}`, stranger);
  const nowhere = await p.open(`${p.base}/nowhere`, stranger);
  assert.equal([unknown.status, hidden.status, nowhere.status], [404, 404, 404]);
  assert.is(normalizedHtml(hidden.text), normalizedHtml(unknown.text));
  assert.is(normalizedHtml(nowhere.text), normalizedHtml(unknown.text));
});

test('the navigation links to exactly the pages that the visitor may open', async () => {
  for (const role of ['ADMIN', 'MEMBER', 'AUDITOR'] as const) {
    const session = await p.signIn((await addMember(p, role, p.tenant_id, `links-${role}@example.com`)).key);
    const { text } = await p.open(p.base, session);
    const links = [...text.matchAll(/<a href="(\/console\/[^"]+)"/g)].map((found) => found[1]!);
    assert.ok(links.length > 4, role);
    for (const link of new Set(links)) assert.is((await p.open(link, session)).status, 200, `${role} ${link}`);
    const before = p.eventsOf('AccessRefused').length;
    await p.recordPending();
    assert.is(p.eventsOf('AccessRefused').length, before, 'a page sends no call that the visitor may not make');
  }
});

test('the list of agents shows the runner, the deliveries of the last day and the cost; visitors who may not read costs see no cost', async () => {
  const rowOf = (text: string): string => new RegExp(`<tr data-kind="agent" data-id="${agent}"[\\s\\S]*?</tr>`).exec(text)![0];
  const row = rowOf((await p.open(`${p.base}/agents`)).text);
  assert.match(row, /<span data-runner="">[\s\S]*never/);
  const { groups } = (await p.send('GET', `${p.tenant}/deliveries/summary?group_by=agent_id`)).body as {
    groups: { key: string; outcomes: Record<string, number> }[];
  };
  const total = Object.values(groups.find(({ key }) => key === agent)!.outcomes).reduce((sum, one) => sum + one, 0);
  assert.ok(total > 0);
  assert.match(row, new RegExp(`data-deliveries="${total}"`));
  assert.match(row, /\$\d+\.\d\d/);
  const auditor = await p.signIn((await addMember(p, 'AUDITOR', p.tenant_id, 'list@example.com')).key);
  assert.not.match(rowOf((await p.open(`${p.base}/agents`, auditor)).text), /\$\d/);
});

test('the search finds pages, forms and resources by a name or an id, but only those that the visitor may open', async () => {
  const found = async (q: string, session?: string) => {
    const { status, text } = await p.open(`${p.base}/find?q=${encodeURIComponent(q)}`, session);
    assert.is(status, 200, text.slice(0, 300));
    return [...(/<ul class="hits"[\s\S]*?<\/ul>/.exec(text)?.[0] ?? '').matchAll(/<a href="([^"]+)"/g)].map((one) =>
      one[1]!.replaceAll('&amp;', '&'),
    );
  };
  assert.ok((await found('review')).includes(`${p.base}/agents/${agent}`));
  assert.equal(await found(accepted), [`${p.base}/deliveries/${accepted}`]);
  const { event_id: event, meta, position } = p.eventsOf('AgentCreated')[0]!;
  assert.equal(await found(event), [`${p.base}/events/${event}`]);
  const request = String(meta.$correlationId);
  assert.equal(await found(request), [`${p.base}/events?correlation_id=${request}`]);
  const token = tokenOf(position);
  assert.equal(await found(token), [`${p.base}/events?to_position=${encodeURIComponent(token)}`]);
  const asProvidersId = (q: string) => [`${p.base}/deliveries?${new URLSearchParams({ provider_delivery_id: q })}`];
  for (const unknown of [crypto.randomUUID(), '9999999:9999999', `c${'0'.repeat(24)}`])
    assert.equal(await found(unknown), asProvidersId(unknown), 'nothing found offers to search the deliveries');
  const session = (p.eventsOf('SessionStarted')[0] as { id: string }).id;
  const auditor = await p.signIn((await addMember(p, 'AUDITOR', p.tenant_id, 'found@example.com')).key);
  assert.equal(await found(session, auditor), [`${p.base}/sessions/${session}`]);
  const reader = await addMember(p, 'MEMBER', p.tenant_id, 'reader@example.com');
  await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${reader.user_id}`, { body: { role: 'OWNER' } });
  await p.waitForProjections();
  assert.equal(await found(session, await p.signIn(reader.key)), [], 'a page of a session is only for those who may read the audit log');
  assert.equal(await found('reader@example.com'), [`${p.base}/members/${reader.user_id}`]);
  assert.ok((await found('deliveries')).includes(`${p.base}/deliveries`));
  assert.ok((await found('create an agent')).includes(`/console/run/createAgent?tenant_id=${p.tenant_id}`));
  const member = await p.signIn((await addMember(p, 'MEMBER', p.tenant_id, 'finder@example.com')).key);
  for (const secret of ['review', accepted, event, 'audit log'])
    assert.equal(
      (await found(secret, member)).filter((href) => !href.startsWith('/guides/')),
      [],
      secret,
    );
});

test('while a part of the platform does not work, every page names it, and operators get a link to the advice', async () => {
  p.degraded.push('delivery to runners');
  for (const { path } of consolePages.slice(0, 6))
    assert.match((await p.open(urlOf(path))).text, /data-degraded="delivery to runners"/, path);
  const { text } = await p.open(`${p.base}/agents`);
  assert.match(text, /Not working at the moment: delivery to runners\.[\s\S]*href="\/console\/platform">What to do/);
  const member = await p.signIn((await addMember(p, 'MEMBER', p.tenant_id, 'degraded@example.com')).key);
  assert.not.match((await p.open(`${p.base}/agents`, member)).text, /What to do/);
  p.degraded.length = 0;
  assert.not.match((await p.open(`${p.base}/agents`)).text, /data-degraded/);
});

test('the list of runners has an entry for each agent that the caller may see, or for the given agents', async () => {
  const list = async (query = '', key = p.key) =>
    (await p.send('GET', `${p.tenant}/runners${query}`, { key })).body as { agent_id: string }[];
  const nobody = { connected_since: null, last_seen_at: null, last_acknowledged_at: null, running: 0, held: null };
  const [first] = await list(`?agent_id=${agent}`);
  assert.equal({ ...first, waiting: 0, oldest_waiting_at: null }, { agent_id: agent, ...nobody, waiting: 0, oldest_waiting_at: null });
  assert.ok((await list()).some(({ agent_id }) => agent_id === agent));
  assert.equal(await list(`?agent_id=c${'0'.repeat(24)}`), []);
  assert.equal(await list('', (await addMember(p, 'MEMBER', p.tenant_id, 'runners@example.com')).key), []);
  assert.is((await p.send('GET', `${p.tenant}/runners?agent_id=x`)).status, 422);
});

test('the page of a delivery shows its steps in order, with their durations, and its payload', async () => {
  const { text } = await p.open(`${p.base}/deliveries/${accepted}`);
  assert.match(text, /Received[\s\S]+Signature verified[\s\S]+Stored[\s\S]+Waits/);
  assert.match(text, /Keep it logically awesome\./);
  assert.match(text, new RegExp(`data-kind="delivery" data-id="${accepted}" data-position="\\d+:\\d+"`));
});

test('the page of a rejected delivery shows the reason but no payload', async () => {
  const { text } = await p.open(`${p.base}/deliveries/${rejected}`);
  assert.match(text, /data-why[\s\S]+The signature [\s\S]+no body was stored[\s\S]+Rejected/);
  assert.match(text, /stored no body/);
  assert.not.match(text, /opened/);
});

test('the URL of a list contains its filters; if nothing matches them, the list offers to clear them', async () => {
  const { text } = await p.open(`${p.base}/deliveries?outcome=rejected`);
  assert.equal(
    [...text.matchAll(/data-kind="delivery" data-id="(\w+)"/g)].map((found) => found[1]),
    [rejected],
  );
  const none = await p.open(`${p.base}/deliveries?outcome=dead`);
  assert.match(none.text, /data-empty[\s\S]+Clear the filters/);
});

test('if a filter in the URL is invalid, the page shows the problem of the API and keeps the navigation', async () => {
  const { status, text } = await p.open(`${p.base}/deliveries?outcome=nonsense`);
  assert.is(status, 422);
  assert.match(text, /data-problem[\s\S]+state/);
  assert.match(text, /aria-label="Main"/);
});

test('the links below a list lead to older items, and back to the newest', async () => {
  const all = await p.open(`${p.base}/deliveries?limit=1`);
  assert.not.match(all.text, /rel="next"/, 'the console has its own page size');
});

test("the drawer of a page, which lists the page's API calls, shows them as curl commands without a credential", async () => {
  const { text } = await p.open(`${p.base}/agents`);
  assert.match(text, new RegExp(`curl &#39;http://annals.test/tenant/${p.tenant_id}/agents\\?sort=-activity&#39;`));
  assert.match(text, /Authorization: Bearer \$ANNALS_KEY/);
});

test('texts from outside are escaped, and their invisible characters are shown as code points', async () => {
  const id = await createAgent(p, 'Hostile', { description: '<img src=x onerror=alert(1)>"\'&' });
  const body = { text: 'right\u202eleft <img src=x onerror=alert(1)>' };
  await deliver(p, integration, '<img src=x onerror=alert(1)>', body);
  const latest = await findDelivery(p, 'accepted');
  for (const path of ['/agents', `/agents/${id}`, '/deliveries', `/deliveries/${latest}`]) {
    const { text } = await p.open(`${p.base}${path}`);
    assert.not.match(text, /<img/);
    assert.match(text, /&lt;img src=x onerror=alert\(1\)&gt;/);
    assert.not.ok(text.includes('\u202e'));
  }
  assert.match((await p.open(`${p.base}/deliveries/${latest}`)).text, /right⟦U\+202E⟧left/);
});

test('if the read models fail, the affected part of a page shows the error, and the other parts are shown as usual', async () => {
  const reads = p.reads as unknown as { page: (...all: unknown[]) => Promise<unknown> };
  const { page } = reads;
  reads.page = (list, ...rest) =>
    (list as { table: { name: string } }).table.name === 'deliveries' ? Promise.reject(new Error('broken')) : page(list, ...rest);
  try {
    assert.is((await p.open(`${p.base}/deliveries`)).status, 500);
    const { text } = await p.open(p.base);
    assert.match(text, /data-figure="cost"/);
    assert.match(text, /data-problem[\s\S]+Request/);
    assert.match(text, /aria-label="Main"/);
  } finally {
    reads.page = page;
  }
});

test('assets have immutable URLs that contain their digest, and unknown assets get 404', async () => {
  const { text } = await p.open('/console/sign-in');
  const urls = [...text.matchAll(/"(\/console\/assets\/[^"]+)"/g)].map((found) => found[1]!.split('#')[0]!);
  assert.ok(urls.length >= 4);
  for (const url of new Set(urls)) {
    const { status, headers } = await p.open(url, '');
    assert.is(status, 200, url);
    assert.is(headers.get('cache-control'), 'public, max-age=31536000, immutable', url);
  }
  assert.is((await p.open('/console/assets/0000/console.css', '')).status, 303);
});

afterLastTest(async () => {
  assert.equal(p.unappliedEvents(), []);
  await projectionAdmin!.close();
  await p.close();
});

test.run();
