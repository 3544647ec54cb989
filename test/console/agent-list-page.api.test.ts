import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Summary = Readonly<Record<'all' | 'attention' | 'active' | 'paused' | 'deleted' | 'favorites', number>>;

const p = await startConsole();
const path = `${p.base}/agents`;
const ids: Record<string, string> = {};
for (const name of ['Docs', 'Reviewer', 'Triage', 'Old']) ids[name] = await createAgent(p, name);
const hook = await createIntegration(p, ids.Reviewer!, 'Storefront');
for (let n = 0; n < 3; n++) await deliver(p, hook, 'push', { n });
await deliver(p, await createIntegration(p, ids.Triage!, 'Issues'), 'push', { n: 9 });
await p.send('PATCH', `${p.tenant}/agents/${ids.Docs}`, { body: { is_active: false } });
await p.send('PUT', `${p.tenant}/agents/${ids.Triage}/favorite`);
await p.send('PUT', `${p.tenant}/agents/${ids.Triage}/budget`, { body: { hourly_limit_usd: 2 } });
await p.send('DELETE', `${p.tenant}/agents/${ids.Old}`);
await p.waitForProjections();

const open = async (url: string, cookie?: string): Promise<string> => {
  const { status, text } = await p.open(url, cookie);
  assert.is(status, 200, `${url}: ${text.slice(0, 300)}`);
  return text;
};
const plain = (href: string): string => href.replaceAll('&amp;', '&');
const rowsOf = (text: string): string[] => [...text.matchAll(/<tr data-kind="agent" data-id="(\w+)"/g)].map(([, id]) => id!);
const namesOf = (text: string) => rowsOf(text).map((id) => Object.keys(ids).find((name) => ids[name] === id));

test('the list begins with the agent that was active last, and each tab has the count of its agents', async () => {
  const text = await open(path);
  assert.equal(namesOf(text), ['Triage', 'Reviewer', 'Docs']);
  const tabs = [...text.matchAll(/<a href="([^"]+)"(?: aria-current="true")?>([A-Z][a-z ]+)<span class="quiet" data-count="(\d+)"/g)];
  const summary = (await p.send('GET', `${p.tenant}/agents/summary`)).body as Summary;
  const { all, attention, active, paused, deleted, favorites } = summary;
  assert.equal([all, active, paused, deleted, favorites], [3, 2, 1, 1, 1]);
  assert.equal(
    tabs.map(([, , label, count]) => [label, Number(count)]),
    [
      ['All', all],
      ['Needs attention', attention],
      ['Active', active],
      ['Paused', paused],
      ['Deleted', deleted],
      ['Favourites', favorites],
    ],
  );
  for (const [, href, label, count] of tabs) assert.is(rowsOf(await open(plain(href!))).length, Number(count), label);
});

test('a column header is a link that sorts the list; a second click reverses the order; both work without a script', async () => {
  const headers = (text: string) => [
    ...text.matchAll(/<th scope="col"[^>]*?(?: aria-sort="(\w+)")?><a href="([^"]+)" class="sort-link">([^<]+)</g),
  ];
  const found = headers(await open(path));
  assert.equal(
    found.map(([, order, , title]) => [title, order]),
    [
      ['Agent', undefined],
      ['Queue', undefined],
      ['Deliveries, 24 h', undefined],
      ['Given up, 24 h', undefined],
      ['Last delivery', 'descending'],
      ['Cost today', undefined],
    ],
  );
  const sorted = await open(plain(found[2]![2]!));
  assert.equal(namesOf(sorted).slice(0, 2), ['Reviewer', 'Triage']);
  const [, order, reverse] = headers(sorted)[2]!;
  assert.is(order, 'descending');
  assert.equal(namesOf(await open(plain(reverse!))).at(-1), 'Reviewer');
  assert.equal(namesOf(await open(plain(found[0]![2]!))), ['Docs', 'Reviewer', 'Triage']);
});

test('a row has the deliveries of a day as bars and as a number, the queue, the budget and the state if it is paused', async () => {
  const text = await open(path);
  const rowOf = (name: string) => new RegExp(`<tr data-kind="agent" data-id="${ids[name]}"[\\s\\S]*?</tr>`).exec(text)![0];
  assert.match(rowOf('Reviewer'), /data-queue="3"[\s\S]+role="img"[\s\S]+<dd>3<\/dd>[\s\S]+data-deliveries="3"[\s\S]+data-failed="0"/);
  assert.match(rowOf('Triage'), /data-budget="ok"[\s\S]+\$0\.00 of \$2\.00 this hour/);
  assert.match(rowOf('Docs'), /data-state="paused"/);
  assert.not.match(rowOf('Triage'), /data-state="paused"/);
});

test('visitors see only the agents and numbers that they may see, and no link leads to a refusal', async () => {
  const viewer = await addMember(p, 'MEMBER', p.tenant_id, 'viewer@example.com');
  await p.send('PUT', `${p.tenant}/agents/${ids.Reviewer}/roles/${viewer.user_id}`, { body: { role: 'VIEWER' } });
  const auditor = await addMember(p, 'AUDITOR', p.tenant_id, 'auditor@example.com');
  await p.waitForProjections();
  for (const [key, names] of [
    [viewer.key, ['Reviewer']],
    [auditor.key, ['Docs', 'Reviewer', 'Triage']],
  ] as const) {
    const cookie = await p.signIn(key);
    const text = await open(path, cookie);
    assert.equal(namesOf(text).toSorted(), names);
    assert.is(/data-deliveries="3"/.test(text), key === viewer.key);
    const main = text.slice(text.indexOf('<main'));
    for (const href of new Set([...main.matchAll(/href="(\/console\/[^"#]+)/g)].map(([, one]) => plain(one!)))) await open(href, cookie);
  }
});

afterLastTest(() => p.close());

test.run();
