import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { consolePages } from '../../api/console-pages.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

const p = await startConsole();
const empty = await createSecondTenant(p);
const owner = await p.signIn(empty.key);
await p.waitForProjections();

/**
 * How many lists of a page say that they are empty in a tenant that has only an owner. Pages with 0 have no list, or
 * one that contains the owner, the tenant's creation, or the visitor's own sign-in.
 */
const EMPTY_LISTS: Readonly<Record<string, number>> = {
  '': 1,
  '/deliveries': 1,
  '/deliveries/problems': 1,
  '/jobs': 1,
  '/integrations': 1,
  '/credentials': 1,
  '/guardrails': 1,
  '/agents': 1,
  '/schedules': 1,
  '/costs': 1,
  '/sessions': 1,
  '/access': 1,
  '/members': 0,
  '/audit': 0,
  '/audit/heads': 1,
  '/events': 0,
  '/start': 0,
  '/api-keys': 0,
  '/find': 0,
  '/skills': 1,
};

const TENANT_PAGE = /^\/console\/t\/:tenant_id(?<rest>(?:\/[a-z-]+)*)$/;

/** Returns the HTML of each place in which a page says that a list is empty, from its start to the next heading. */
const emptyStates = (html: string): readonly string[] =>
  html
    .split('data-empty=""')
    .slice(1)
    .map((part) => part.split(/<\/section>|<h1|<details|<\/main>/)[0]!);

test('every list of a tenant without agents says that it is empty, and gives a link or a command for the next step', async () => {
  const wrong: string[] = [];
  for (const { path } of consolePages) {
    const rest = TENANT_PAGE.exec(path)?.groups?.rest;
    if (rest === undefined) continue;
    const { status, text } = await p.open(`/console/t/${empty.id}${rest}`, owner);
    assert.is(status, 200, path);
    const found = emptyStates(text);
    if (found.length !== EMPTY_LISTS[rest]) wrong.push(`${path}: ${found.length} empty lists`);
    for (const one of found) if (!/<a [^>]*href=|<code/.test(one)) wrong.push(`${path}: no next step in ${one.slice(0, 200)}`);
  }
  assert.equal(wrong, []);
});

/** For each list with filters, a filter that matches nothing. */
const NO_HITS: Readonly<Record<string, string>> = {
  '/deliveries': 'event=nothing',
  '/deliveries/problems': 'from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z',
  '/agents': 'q=nothing',
  '/schedules': 'decision=missed',
  '/costs': 'start=2020-01-01T00:00:00Z&end=2020-02-01T00:00:00Z',
  '/sessions': 'status=failed',
  '/audit': 'action=nothing',
  '/events': 'type=Nothing',
};

test('a list whose filters match nothing says so, and its link clears the filters', async () => {
  const agent = await createAgent(p, 'Reviewer');
  await deliver(p, await createIntegration(p, agent), 'push', {});
  await findDelivery(p, 'accepted');
  const wrong: string[] = [];
  for (const { path } of consolePages) {
    const rest = TENANT_PAGE.exec(path)?.groups?.rest;
    if (rest === undefined) continue;
    const plain = await p.open(`${p.base}${rest}`);
    const query = NO_HITS[rest];
    if (/<details class="filters"/.test(plain.text) && query === undefined) wrong.push(`${path}: this test knows no filter`);
    if (query === undefined) continue;
    const { status, text } = await p.open(`${p.base}${rest}?${query}`);
    const [first = ''] = emptyStates(text);
    const link = /href="([^"]*)"[^>]*>Clear the filters/.exec(first)?.[1];
    if (status !== 200 || link === undefined) wrong.push(`${path}?${query}: ${status} ${first.slice(0, 200)}`);
    if (link?.includes(query)) wrong.push(`${path}: the link ${link} keeps the filter`);
  }
  assert.equal(wrong, []);
});

test('people who may not see the deliveries that exist get neither a command nor the claim that there are none', async () => {
  for (const role of ['AUDITOR', 'MEMBER'] as const) {
    const cookie = await p.signIn((await addMember(p, role)).key);
    for (const rest of ['', '/deliveries']) {
      const { status, text } = await p.open(`${p.base}${rest}`, cookie);
      const what = `${role} ${rest}`;
      assert.is(status, 200, what);
      assert.match(text, /None that you may see[\s\S]+An OWNER or ADMIN of the tenant can give you this access/, what);
      assert.not.match(text, /No deliveries yet|annals trigger|data-count="[a-z]+">[1-9]/, what);
    }
  }
});

afterLastTest(() => p.close());

test.run();
