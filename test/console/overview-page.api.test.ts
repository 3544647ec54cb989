import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;
type Overview = { figures: Record<string, { value: number }>; attention: { kind: string }[] };

const p = await startConsole();
const emptyPage = (await p.open(p.base)).text;

const agent = await createAgent(p, 'Refund Assistant');
const integration = await createIntegration(p, agent, 'Storefront');

let settled = 0;
/** Records that all deliveries which are not finished were given up, or acknowledged, by a runner. */
const settle = async (outcome: 'max_deliveries' | 'acknowledged'): Promise<void> => {
  const done = new Set(
    p.eventsOf('DeliveryDeadLettered', 'DeliveriesAcknowledged').flatMap(({ data }) => {
      const { delivery_id, deliveries = [] } = data as { delivery_id?: string; deliveries?: { delivery_id: string }[] };
      return [...deliveries.map((one) => one.delivery_id), ...(delivery_id ? [delivery_id] : [])];
    }),
  );
  const notices = p
    .eventsOf('WebhookAccepted')
    .filter(({ id }) => !done.has(id))
    .map(({ id, event_id, at }) => ({ delivery_id: id, event_id, at, attempts: 1, sequence: ++settled, outcome }));
  await p.systemContext(p.tenant_id).transact(Acknowledgement, agent, Acknowledgement.recordAdvisories('one', notices));
  await p.waitForProjections();
};
const readOverview = async (): Promise<Overview> => (await p.send('GET', `${p.tenant}/overview`)).body as Overview;
const open = async (cookie?: string): Promise<string> => {
  const { status, text } = await p.open(p.base, cookie);
  assert.is(status, 200, text);
  return text;
};
const main = (text: string): string => text.slice(text.indexOf('<main'));

test('the overview of a new tenant says that nothing needs attention, and leads to the first steps', () => {
  assert.match(emptyPage, /<h1>Overview<\/h1>/);
  assert.match(emptyPage, /data-calm[\s\S]+Nothing needs attention\. Checked /);
  assert.match(emptyPage, new RegExp(`data-first-steps[\\s\\S]+href="${p.base}/start"`));
});

test('the first steps are shown until a runner has acknowledged a delivery', async () => {
  await deliver(p, integration, 'push', { n: 1 });
  assert.match(await open(), /data-first-steps/);
  await settle('acknowledged');
  assert.not.match(await open(), /data-first-steps/);
});

test('the figures are those of the API, each with bars, numbers for screen readers, and a link to what it counts', async () => {
  for (let n = 2; n < 6; n++) await deliver(p, integration, 'push', { n });
  await settle('max_deliveries');
  await deliver(p, integration, 'push', { n: 6 });
  await p.waitForProjections();
  // The counts of the page before are reused for two seconds.
  p.clock.now = () => Date.now() + 3_000;
  const text = await open();
  const { figures } = await readOverview();
  const shown = [...text.matchAll(/data-figure="(\w+)" data-value="([\d.]+)"[\s\S]*?href="([^"]+)"[\s\S]*?<svg[^>]* role="img"/g)];
  assert.equal(
    shown.map(([, name, value]) => [name, Number(value)]),
    [
      ['accepted', figures.accepted!.value],
      ['failed', 4],
      ['waiting', 1],
      ['cost', figures.cost_usd!.value],
    ],
  );
  assert.match(text, /aria-label="Deliveries given up per hour;[^>]*>[\s\S]*?the last hour<\/dt><dd>4</);
  const counts = await Promise.all(shown.map(async ([, , , href]) => (await p.open(href!.replaceAll('&amp;', '&'))).status));
  assert.equal(counts, [200, 200, 200, 200]);
});

test('what needs attention names its cause, leads to it, and has one next step', async () => {
  const rows = (await open()).match(/<tr data-kind="attention"[\s\S]*?<\/tr>/g)!;
  assert.is(rows.length, (await readOverview()).attention.length);
  const dead = rows.find((row) => row.includes('data-attention="deliveries_dead"'))!;
  assert.match(dead, /4 deliveries given up[\s\S]+Refund Assistant[\s\S]+replayTenantDeliveries[\s\S]+Redeliver/);
  const cause = /href="([^"]+)"/.exec(dead)![1]!.replaceAll('&amp;', '&');
  assert.is((await p.open(cause)).text.match(/<tr data-kind="delivery"/g)?.length, 4);
  for (const row of rows) assert.ok((row.match(/class="button/g) ?? []).length <= 1, row);
});

test('an API key that expires is renewed on the page of keys, not with a form that gets only its name', async () => {
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'Reader', expires_at, read_only: true } });
  await p.waitForProjections();
  const row = (await open()).match(/<tr data-kind="attention" data-id="api_key_expiring[\s\S]*?<\/tr>/)?.[0] ?? '';
  assert.match(row, /href="[^"]+\/api-keys"/);
  assert.not.match(row, /createApiKey/);
});

test('no link of the overview leads to a refusal, whoever opens it', async () => {
  const visitors = { OWNER: await p.signIn(p.key) } as Record<string, string>;
  for (const role of ['ADMIN', 'AUDITOR', 'MEMBER'] as const)
    visitors[role] = await p.signIn((await addMember(p, role, p.tenant_id, `o-${role}@example.com`)).key);
  const viewer = await addMember(p, 'MEMBER', p.tenant_id, 'o-viewer@example.com');
  await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${viewer.user_id}`, { body: { role: 'VIEWER' } });
  visitors.VIEWER = await p.signIn(viewer.key);
  await p.waitForProjections();
  for (const [name, cookie] of Object.entries(visitors)) {
    const text = main(await open(cookie));
    const links = new Set([...text.matchAll(/href="(\/console\/[^"#]+)/g)].map(([, href]) => href!.replaceAll('&amp;', '&')));
    for (const link of links) assert.is((await p.open(link, cookie)).status, 200, `${name} ${link}`);
    assert.is(/data-attention="deliveries_dead"/.test(text), ['OWNER', 'ADMIN', 'VIEWER'].includes(name), name);
    assert.is(/data-figure="cost"/.test(text), ['OWNER', 'ADMIN'].includes(name), name);
  }
});

test('the latest changes are those of people, and a page that shows the past has neither figures nor what needs attention', async () => {
  const lines = [...main(await open()).matchAll(/<li data-kind="audit"[\s\S]*?<span class="sentence">([\s\S]*?)<\/span>/g)];
  assert.ok(lines.length > 0 && lines.length <= 8);
  const entries = (await p.send('GET', `${p.tenant}/audit-logs?limit=100`)).body as Json[];
  const sentences = entries
    .filter(({ actor }) => (actor as Json).kind === 'user')
    .map(({ sentence }) => (sentence as { text: string }[]).map(({ text }) => text).join(''));
  const texts = lines.map(([, line]) => line!.replace(/<[^>]+>/g, '').replaceAll('&#39;', "'"));
  assert.equal(texts, sentences.slice(0, texts.length));
  const byPeople = entries.filter(({ actor }) => (actor as Json).kind === 'user').map(({ id }) => id);
  const shown = [...main(await open()).matchAll(/<li data-kind="audit" data-id="([^"]+)"/g)].map(([, id]) => id);
  assert.equal(shown, byPeople.slice(0, shown.length));
  const past = main((await p.open(`${p.base}?as_of=back`)).text);
  assert.not.match(past, /data-figure|data-attention/);
});

afterLastTest(() => p.close());

test.run();
