// limit: 180
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { timeout } from '../fixtures/live-console.ts';

/** The number of the delivery that comes while its integration is paused. */
const BLOCKED = 5;
/** How far a row may move on the screen while its list becomes narrower or wider. */
const MAX_MOVE_PX = 4;

const stage = async () => {
  const p = await startConsole();
  const agent = await createAgent(p, 'Reviewer');
  const hook = await createIntegration(p, agent, 'northwind/storefront');
  const ids: string[] = [];
  const pause = (is_paused: boolean) => p.send('PATCH', `${p.tenant}/webhook-integrations/${hook}`, { body: { is_paused } });
  for (let n = 0; n < 30; n++) {
    if (n === BLOCKED) await pause(true);
    ids.unshift((await deliver(p, hook, `event-${n}`, { n })).id!);
    if (n === BLOCKED) await pause(false);
  }
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, hook, ids, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

const opened = async (width: number, more: object = {}) => {
  const { page, faults } = await openPage(given!.browser, given!.p.cookie, { viewport: { width, height: 800 }, ...more });
  await page.goto(`${given!.p.base}/deliveries?period=all`);
  const end = async () => {
    assert.equal(faults.found, []);
    await page.context().close();
  };
  return { page, end };
};

/** Returns how far a row is below the top of the screen, after the page has been loaded and has gone to its place. */
const topOf = async (page: Page, id: string): Promise<number> => {
  await page.waitForLoadState();
  return Number(await page.evaluate(`document.querySelector('tr[data-id="${id}"]').getBoundingClientRect().top`));
};

/** Fails if a row is not where it was on the screen, which is 800 px high. */
const assertInPlace = async (page: Page, id: string, before: number, after: string): Promise<void> => {
  const top = await topOf(page, id);
  assert.ok(top > 0 && top < 800 && Math.abs(top - before) <= MAX_MOVE_PX, `${after}: the row is at ${top}, and was at ${before}`);
};

const openId = 'document.querySelector("[data-open]")?.dataset.open ?? null';
const focusedId = 'document.activeElement?.closest("tr[data-id]")?.dataset.id ?? null';

browserTest('on a wide screen, a click opens a delivery beside its list, and Escape closes it, without losing the place', async () => {
  const { page, end } = await opened(1280);
  const id = given!.ids[20]!;
  await page.locator(`tr[data-id="${id}"] .row-link`).scrollIntoViewIfNeeded();
  assert.ok(Number(await page.evaluate('scrollY')) > 0);
  const before = await topOf(page, id);
  await page.click(`tr[data-id="${id}"] .row-link`);
  await page.waitForSelector(`.beside[data-open="${id}"] h2:has-text("event-9")`);
  assert.match(page.url(), `open=${id}`);
  assert.is(await page.locator('tr[data-kind="delivery"]').count(), 30);
  assert.is(await page.evaluate(focusedId), id);
  await assertInPlace(page, id, before, 'opened');
  assert.ok(Number(await page.evaluate('document.querySelector(".beside").getBoundingClientRect().top')) >= 0);
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForSelector(`.beside[data-open="${given!.ids[21]}"]`);
  const beside = await topOf(page, given!.ids[21]!);
  await page.keyboard.press('Escape');
  await page.waitForURL((url) => !url.searchParams.has('open'));
  await assertInPlace(page, given!.ids[21]!, beside, 'closed');
  assert.equal([await page.evaluate(openId), await page.evaluate(focusedId)], [null, given!.ids[21]]);
  await end();
});

browserTest('one step back leads from deliveries that were opened beside the list to the list', async () => {
  const { page, end } = await opened(1280);
  for (const id of given!.ids.slice(0, 2)) {
    await page.click(`tr[data-id="${id}"] .row-link`);
    await page.waitForSelector(`.beside[data-open="${id}"]`);
  }
  await page.goBack();
  await page.waitForFunction('document.querySelector("[data-open]") === null');
  assert.match(page.url(), /deliveries\?period=all$/);
  await end();
});

browserTest('a tab of the open delivery replaces the entry of the history, and closing goes back to the list', async () => {
  const { page, end } = await opened(1280);
  const id = given!.ids[0]!;
  const before = Number(await page.evaluate('history.length'));
  await page.click(`tr[data-id="${id}"] .row-link`);
  await page.waitForSelector(`.beside[data-open="${id}"]`);
  for (const [tab, name] of [
    ['Headers', 'headers'],
    ['Facts', 'facts'],
  ] as const) {
    await page.click(`.beside .tabs a:has-text("${tab}")`);
    await page.waitForSelector(`.beside .tabs a[aria-current="page"]:has-text("${tab}")`);
    assert.is(new URL(page.url()).searchParams.get('tab'), name, 'the address names the tab');
  }
  const isList = (url: URL): boolean => !url.searchParams.has('open');
  await page.goBack();
  assert.ok(isList(new URL(page.url())), 'one step back leads to the list');
  await page.goForward();
  await page.waitForSelector('.beside .tabs a[aria-current="page"]:has-text("Facts")');
  const shared = page.url();
  await page.keyboard.press('Escape');
  await page.waitForURL(isList);
  assert.is(Number(await page.evaluate('history.length')), before + 1, 'opening has added the only entry');
  await page.goForward();
  await page.waitForSelector(`.beside[data-open="${id}"]`);
  await end();
  const { page: other } = await openPage(given!.browser, given!.p.cookie, { viewport: { width: 1280, height: 800 } });
  await other.goto(shared);
  await other.waitForSelector('.beside .tabs a[aria-current="page"]:has-text("Facts")');
  const entries = Number(await other.evaluate('history.length'));
  await other.keyboard.press('Escape');
  await other.waitForURL(isList);
  assert.is(
    Number(await other.evaluate('history.length')),
    entries,
    'the list takes the place of a delivery that was opened by its address',
  );
  await other.context().close();
});

browserTest('a click with a modifier key, a phone, and a browser without JavaScript open the page of the delivery', async () => {
  const id = given!.ids[0]!;
  const { page: wide, end } = await opened(1280);
  const [tab] = await Promise.all([
    wide.context().waitForEvent('page'),
    wide.click(`tr[data-id="${id}"] .row-link`, { modifiers: ['Control'] }),
  ]);
  await tab.waitForURL(`**/deliveries/${id}`);
  await end();
  for (const [width, more] of [
    [375, {}],
    [1280, { javaScriptEnabled: false }],
  ] as const) {
    const { page } = await opened(width, more);
    await page.click(`tr[data-id="${id}"] .row-link`);
    await page.waitForURL(`**/deliveries/${id}`);
    await page.context().close();
  }
  const { page: narrow } = await opened(375);
  await narrow.goto(`${given!.p.base}/deliveries?open=${id}`);
  await narrow.waitForURL(`**/deliveries/${id}`);
  await narrow.context().close();
});

browserTest('the tabs and the forms of the open delivery lead back to the same place of the list', async () => {
  const { page, end } = await opened(1280);
  const openAt = async (id: string): Promise<number> => {
    await page.click(`tr[data-id="${id}"] .row-link`);
    await page.waitForSelector(`.beside[data-open="${id}"]`);
    return topOf(page, id);
  };
  const redelivered = given!.ids[15]!;
  let before = await openAt(redelivered);
  for (const tab of ['Facts', 'Facts', 'As signed curl', 'Payload', 'Headers']) {
    await page.click(`.beside .tabs a:has-text("${tab}")`);
    await page.waitForSelector(`.beside .tabs a[aria-current="page"]:has-text("${tab}")`);
    await assertInPlace(page, redelivered, before, tab);
    assert.is(await page.evaluate('document.activeElement.textContent'), tab);
  }
  await page.click('.beside .heading button:has-text("Redeliver")');
  await page.click('.beside dialog button.primary');
  await page.waitForURL((url) => url.searchParams.has('after'));
  await assertInPlace(page, redelivered, before, 'redelivered');
  const released = given!.ids.at(-1 - BLOCKED)!;
  before = await openAt(released);
  await page.click('.beside a:has-text("Release…")');
  await page.fill('[name="/reason"]', 'Paused by mistake');
  await page.click('form[data-form="releaseDelivery"] button.primary');
  await page.waitForSelector(`.beside[data-open="${released}"]`);
  await assertInPlace(page, released, before, 'released');
  await end();
});

browserTest('the open delivery follows its changes while its list is scrolled down and new rows are only announced', async () => {
  const { page, end } = await opened(1280);
  const { p, hook, ids } = given!;
  const followed = async () => String(await page.getAttribute('#main', 'data-categories')).split(' ');
  assert.not((await followed()).includes('session'), 'no message of a session changes the list');
  await page.goto(`${p.base}/deliveries?period=all&tab=facts&open=${ids[10]}`);
  assert.ok((await followed()).includes('session'), 'the open delivery shows what its session costs');
  await page.waitForSelector('#live[data-state="live"]', timeout());
  await page.locator(`tr[data-id="${ids[10]}"]`).scrollIntoViewIfNeeded();
  assert.ok(Number(await page.evaluate('scrollY')) > 120);
  const before = await topOf(page, ids[10]!);
  const { id } = await deliver(p, hook, 'event-30', { n: 30 });
  await page.waitForSelector('#live-new:not([hidden])', timeout());
  const again = await p.send('POST', `${p.tenant}/deliveries/${ids[10]}/redeliver`);
  assert.is(again.status, 202, again.text);
  await page.waitForSelector('.beside [data-redeliveries="1"]', timeout());
  assert.equal([await page.locator(`tr[data-id="${id}"]`).count(), await page.textContent('#live-new')], [0, '1 new']);
  await assertInPlace(page, ids[10]!, before, 'announced');
  await end();
});

afterLastTest(async () => {
  await given?.browser.close();
  given?.server.close();
  await given?.p.close();
});

test.run();
