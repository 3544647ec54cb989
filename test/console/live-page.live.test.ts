// limit: 300
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FORBIDDEN_FEATURES } from '../../api/console/headers.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { openPage } from '../fixtures/chromium.ts';
import { deliver, OWN_PAGE } from '../fixtures/console-platform.ts';
import { startLiveConsole, timeout } from '../fixtures/live-console.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { addMember } from '../fixtures/users.ts';

const MAX_REQUESTS = 12;
const REDRAWS = 20;
/** The paths of the console that browsers have requested, in their order. */
const requested: string[] = [];
const given = await startLiveConsole({ onResponse: (c) => void (c.req.path.startsWith('/console') && requested.push(c.req.path)) });

const rowOf = (id: string | undefined) => `#main [data-id="${id}"]`;
const isRedraw = (path: string) => (response: { url: () => string }) => response.url().endsWith(path);

/** Tells a page that its tab is hidden or visible, as a browser does. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
    document.dispatchEvent(new Event('visibilitychange'));
  `);

browserTest('the first visit of the list of deliveries needs at most 12 requests, and the next one a single request', async () => {
  const { p, browser } = given!;
  const { page, faults } = await openPage(browser, p.cookie);
  const path = `${p.base}/deliveries`;
  const visit = async (): Promise<string[]> => {
    requested.length = 0;
    await page.goto(path);
    await page.waitForSelector('#live[data-state="live"]', timeout());
    await page.evaluate('document.fonts.ready');
    return [...requested];
  };
  const cold = await visit();
  // This Chromium has no tabs, so it does not request the icon of the page.
  assert.ok(cold.length + 1 <= MAX_REQUESTS, `${cold.length + 1} requests: ${cold.join(' ')} favicon.svg`);
  assert.ok(cold.some((one) => one.endsWith('console.css')) && cold.some((one) => one.endsWith('chart-brush.mjs')));
  assert.equal(await visit(), [path]);
  assert.equal(faults.found, []);
  const allowed = (await page.evaluate('document.featurePolicy.allowedFeatures()')) as string[];
  assert.equal(
    allowed.filter((name) => FORBIDDEN_FEATURES.includes(name)),
    [],
  );
  assert.ok(allowed.includes('clipboard-write'));
  await page.context().close();
});

browserTest(
  'a hidden tab closes its stream and fetches nothing; when it is visible again, it fetches the page once and follows the changes',
  async () => {
    const { p, integration } = given!;
    const { page } = await given!.openLive('/deliveries');
    const fetched: string[] = [];
    const path = `${p.base}/deliveries`;
    page.on(
      'request',
      (request) => void (/\/(deliveries|changes)(\?|$)/.test(request.url()) && fetched.push(new URL(request.url()).pathname)),
    );
    const closed = page.waitForEvent('requestfailed', { predicate: (request) => request.url().includes('/changes'), ...timeout() });
    await setHidden(page, true);
    await closed;
    const { id } = await deliver(p, integration, 'push', { hidden: true });
    await p.waitForProjections();
    await page.waitForTimeout(2_500);
    assert.equal(fetched, []);
    await setHidden(page, false);
    await page.waitForSelector(rowOf(id), timeout());
    await page.waitForSelector('#live[data-state="live"]', timeout());
    await page.waitForTimeout(1_500);
    assert.equal(fetched, [path, `${p.tenant}/changes`]);
    const next = await deliver(p, integration, 'push', { visible: true });
    await page.waitForSelector(rowOf(next.id), timeout());
    await page.context().close();
  },
);

browserTest('after 20 seconds without a message, the page says since when it tries to connect again; then it is live again', async () => {
  const { p, browser } = given!;
  const { page } = await openPage(browser, p.cookie);
  await page.clock.install();
  await page.goto(`${p.base}/deliveries`);
  await page.waitForSelector('#live[data-state="live"]', timeout());
  await page.route('**/changes*', (route) => route.abort());
  await page.clock.runFor(23_000);
  await page.waitForSelector('#live[data-state="lost"]', timeout());
  await page.clock.runFor(3_000);
  assert.match((await page.textContent('#live')) ?? '', /^Reconnecting since 0:\d\d$/);
  await page.unroute('**/changes*');
  for (let attempt = 0; attempt < 5; attempt++) {
    await page.clock.runFor(3_000);
    await sleep(200);
  }
  await page.waitForSelector('#live[data-state="live"]', timeout());
  await page.context().close();
});

browserTest('if a redraw gets no answer, the page abandons it, and another redraw shows the change', async () => {
  const { p, integration } = given!;
  const { page } = await given!.openLive('/deliveries');
  let redraws = 0;
  // The first redraw gets no answer, as on a connection that a proxy has forgotten.
  await page.route('**/deliveries', (route) => (++redraws === 1 ? undefined : route.continue()));
  const { id } = await deliver(p, integration, 'push', { unanswered: true });
  await page.waitForSelector(rowOf(id), timeout(25_000));
  assert.ok(redraws > 1, `${redraws} redraws`);
  await page.context().close();
});

browserTest('open details and the scroll position survive twenty redraws, which are at least half a second apart', async () => {
  const { p, integration } = given!;
  const { id } = await deliver(p, integration, 'push', { nested: { deep: { list: Array.from({ length: 80 }, (_, n) => n) } } });
  await p.waitForProjections();
  const path = `${p.base}/deliveries/${id}`;
  const { page, faults } = await given!.openLive(path);
  await page.evaluate(`for (const one of document.querySelectorAll('#main details, .drawer')) one.open = true; scrollTo(0, 300)`);
  const state = () => page.evaluate(`[document.querySelectorAll('#main details[open], .drawer[open]').length, scrollY]`);
  const before = (await state()) as number[];
  assert.ok(before[0]! > 1 && before[1]! > 0, `the page has details and can be scrolled: ${before}`);
  const times: number[] = [];
  page.on('request', (request) => void (isRedraw(path)(request) && times.push(Date.now())));
  while (times.length < REDRAWS) {
    const redrawn = page.waitForResponse(isRedraw(path), timeout());
    await deliver(p, integration, 'push', { another: times.length });
    await redrawn;
  }
  await page.waitForTimeout(300);
  assert.equal(await state(), before);
  const average = (times.at(-1)! - times[0]!) / (times.length - 1);
  assert.ok(average >= 480, `${average} ms between two redraws`);
  const drawer = (await page.textContent('.drawer')) ?? '';
  assert.match(drawer, /-H 'Consistency-Token: \d+:\d+'/, 'the commands of the last redraw are shown');
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('an open menu of a row and the focus in it survive redraws', async () => {
  const { p } = given!;
  await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'First' } });
  await p.waitForProjections();
  const { page, faults } = await given!.openLive('/api-keys');
  await page.click('#main button[popovertarget]');
  const state = () => page.evaluate(`[document.querySelector(':popover-open')?.id, document.activeElement.textContent]`);
  const before = (await state()) as string[];
  assert.match(before[0] ?? '', /^menu-/);
  for (const name of ['Second', 'Third']) {
    const redrawn = page.waitForResponse(isRedraw('/api-keys'), timeout());
    await p.send('POST', `${p.tenant}/api-keys`, { body: { name } });
    await redrawn;
    await page.waitForSelector(`#main tr:has-text("${name}")`, timeout());
  }
  assert.equal(await state(), before);
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('several rows of the same resource get different ids, which stay the same at the next redraw', async () => {
  const { page } = await given!.openLive('/deliveries');
  const ids = await page.evaluate(`(async () => {
    const { nameRows } = await import(document.querySelector('script[src$="/live.mjs"]').src.replace('live.mjs', 'morph-page.mjs'));
    const list = document.createElement('div');
    list.innerHTML = '<p data-kind="agent" data-id="a"></p><p data-kind="agent" data-id="a"></p><p data-id="b" id="own"></p>';
    const named = () => {
      nameRows(list);
      return [...list.children].map(({ id }) => id).join(' ');
    };
    return [named(), named()];
  })()`);
  assert.equal(ids, ['row-agent-a row-agent-a-2 own', 'row-agent-a row-agent-a-2 own']);
  await page.context().close();
});

browserTest(
  'a page says in a second why its session has ended, and links to the sign-in: signed out elsewhere, key revoked, user suspended',
  async () => {
    const { p } = given!;
    const member = await addMember(p, 'MEMBER');
    const made = (await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'Short' } })).body as { id: string; key: string };
    await p.waitForProjections();
    const endings = [
      {
        key: p.key,
        end: (cookie: string) => p.send('POST', '/auth/logout', { key: '', headers: { cookie, ...OWN_PAGE } }),
        reason: 'This browser was signed out, here or in another browser',
      },
      {
        key: made.key,
        end: () => p.send('DELETE', `${p.tenant}/api-keys/${made.id}`),
        reason: 'The API key with which this browser signed in was revoked',
      },
      {
        key: member.key,
        end: () => p.send('PATCH', `/api/v1/admin/users/${member.user_id}`, { body: { is_suspended: true } }),
        reason: 'The owner of this API key is suspended or does not exist',
      },
    ];
    for (const { key, end, reason } of endings) {
      const cookie = await p.signIn(key);
      const { page } = await given!.openLive('/deliveries', cookie);
      await page.waitForTimeout(600);
      const streamEnded = page.waitForEvent('requestfinished', {
        predicate: (request) => request.url().includes('/changes'),
        ...timeout(),
      });
      await end(cookie);
      const endedAt = Date.now();
      await streamEnded;
      assert.ok(Date.now() - endedAt <= 2_000 * loadFactor(), `the stream ended after ${Date.now() - endedAt} ms`);
      await page.waitForSelector('#live-ended:not([hidden])', timeout());
      const shownAfter = Date.now() - endedAt;
      console.log(`${reason}: shown after ${shownAfter} ms`);
      assert.ok(shownAfter <= 1_000 * loadFactor(), `${shownAfter} ms`);
      assert.ok(((await page.textContent('#live-ended')) ?? '').includes(`${reason}. `));
      await page.click('#live-ended a');
      await page.waitForURL(/\/console\/sign-in\?return_to=/, timeout());
      assert.ok(((await page.textContent('main')) ?? '').includes(reason));
      await page.context().close();
    }
  },
);

afterLastTest(() => given?.close());

test.run();
