import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { consolePages } from '../../api/console-pages.ts';
import { type ConsolePlatform, createAgent, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const integration = await createIntegration(p, agent);
await deliver(p, integration, 'push', { zen: 'Keep it logically awesome.' });
await deliver(p, integration, 'issues', { action: 'opened' }, { signature: 'sha256=forged' });

const session = await seedSession(p, agent);
const accepted = await findDelivery(p, 'accepted');
const rejected = await findDelivery(p, 'rejected');

/** The URL of a page, with the ids of resources that exist. */
const urlOf = (path: string, { tenant_id }: Pick<ConsolePlatform, 'tenant_id'> = p): string =>
  path
    .replace(':tenant_id', tenant_id)
    .replace(':agent_id', agent)
    .replace(':delivery_id', accepted)
    .replace(':integration_id', integration)
    .replace(':session_id', session.id)
    .replace(':event_id', p.eventsOf('AgentCreated')[0]!.event_id)
    .replace(':name', 'agents');

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const MAX_PAGE_GZIP = 14_000;

test('every page of the console has the security headers and one h1, and no inline script or style and nothing from another host', async () => {
  for (const { path } of consolePages) {
    const answer = await p.open(urlOf(path));
    assert.is(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`);
    const { headers, text } = answer;
    assert.is(headers.get('content-security-policy'), POLICY, path);
    assert.equal(
      ['cross-origin-opener-policy', 'cross-origin-resource-policy', 'referrer-policy', 'cache-control', 'x-content-type-options'].map(
        (name) => headers.get(name),
      ),
      ['same-origin', 'same-origin', 'no-referrer', 'no-store', 'nosniff'],
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
  const same = (text: string) =>
    text.replace(/<details class="drawer">[\s\S]*<\/details>/, '').replaceAll(/name="return_to" value="[^"]*"/g, '');
  assert.is(same(hidden.text), same(unknown.text));
  assert.is(same(nowhere.text), same(unknown.text));
});

test('the navigation links to exactly the pages that the visitor may open', async () => {
  for (const role of ['ADMIN', 'MEMBER', 'AUDITOR'] as const) {
    const session = await p.signIn((await addMember(p, role, p.tenant_id, `links-${role}@example.com`)).key);
    const { text } = await p.open(p.base, session);
    const links = [...text.matchAll(/<a href="(\/console\/[^"]+)"/g)].map((found) => found[1]!);
    assert.ok(links.length > 4, role);
    for (const link of new Set(links)) assert.is((await p.open(link, session)).status, 200, `${role} ${link}`);
    const before = p.eventsOf('AccessRefused').length;
    await p.recordRefusals();
    assert.is(p.eventsOf('AccessRefused').length, before, 'a page sends no call that the visitor may not make');
  }
});

test('the page of a delivery shows its steps in order, with their durations, and its payload', async () => {
  const { text } = await p.open(`${p.base}/deliveries/${accepted}`);
  assert.match(text, /Received[\s\S]+Signature verified[\s\S]+Stored in the log[\s\S]+Waits/);
  assert.match(text, /Keep it logically awesome\./);
  assert.match(text, new RegExp(`data-kind="delivery" data-id="${accepted}" data-position="\\d+:\\d+"`));
});

test('the page of a rejected delivery shows the reason but no payload', async () => {
  const { text } = await p.open(`${p.base}/deliveries/${rejected}`);
  assert.match(text, /Rejected[\s\S]+Reason: /);
  assert.match(text, /stored no body/);
  assert.not.match(text, /opened/);
});

test('a list keeps its filters in the URL, and offers to clear them if nothing matches', async () => {
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
  assert.match(text, /data-problem[\s\S]+outcome/);
  assert.match(text, /aria-label="Main"/);
});

test('the links below a list lead to older items, and back to the newest', async () => {
  const all = await p.open(`${p.base}/deliveries?limit=1`);
  assert.not.match(all.text, /rel="next"/, 'the console has its own page size');
});

test('the drawer shows the API calls of the page as command lines, without a credential', async () => {
  const { text } = await p.open(`${p.base}/agents`);
  assert.match(text, new RegExp(`curl &#39;http://annals.test/tenant/${p.tenant_id}/agents\\?favorite=false&#39;`));
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

test('if the read models fail, the affected panel shows the error, and the rest of the page remains', async () => {
  const reads = p.reads as unknown as { page: (...all: unknown[]) => Promise<unknown> };
  const { page } = reads;
  reads.page = (list, ...rest) =>
    (list as { table: { name: string } }).table.name === 'deliveries' ? Promise.reject(new Error('broken')) : page(list, ...rest);
  try {
    assert.is((await p.open(`${p.base}/deliveries`)).status, 500);
    const { text } = await p.open(p.base);
    assert.match(text, /data-kind="agent"/);
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

test('the console stops without an error', async () => {
  assert.equal(p.unappliedEvents(), []);
  await p.close();
});

test.run();
