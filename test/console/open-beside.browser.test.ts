// limit: 180
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';

const stage = async () => {
  const p = await startConsole();
  const agent = await createAgent(p, 'Reviewer');
  const hook = await createIntegration(p, agent, 'northwind/storefront');
  const ids: string[] = [];
  for (let n = 0; n < 30; n++) ids.unshift((await deliver(p, hook, `event-${n}`, { n })).id!);
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, ids, server, browser: await launchChromium(server.port) };
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
const openId = 'document.querySelector("[data-open]")?.dataset.open ?? null';
const focusedId = 'document.activeElement?.closest("tr[data-id]")?.dataset.id ?? null';

browserTest('on a wide screen, a click opens a delivery beside its list, and Escape closes it, without losing the place', async () => {
  const { page, end } = await opened(1280);
  const id = given!.ids[20]!;
  await page.locator(`tr[data-id="${id}"] .row-link`).scrollIntoViewIfNeeded();
  const before = await page.evaluate('scrollY');
  assert.ok(Number(before) > 0);
  await page.click(`tr[data-id="${id}"] .row-link`);
  await page.waitForSelector(`.beside[data-open="${id}"] h2:has-text("event-9")`);
  assert.match(page.url(), `open=${id}`);
  assert.is(await page.locator('tr[data-kind="delivery"]').count(), 30);
  assert.is(await page.evaluate(focusedId), id);
  assert.ok(Number(await page.evaluate('scrollY')) > 0);
  assert.ok(Number(await page.evaluate('document.querySelector(".beside").getBoundingClientRect().top')) >= 0);
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForSelector(`.beside[data-open="${given!.ids[21]}"]`);
  await page.keyboard.press('Escape');
  await page.waitForURL((url) => !url.searchParams.has('open'));
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

browserTest('a click with a key, a phone, and a browser without JavaScript go to the page of the delivery', async () => {
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

afterLastTest(async () => {
  await given?.browser.close();
  given?.server.close();
  await given?.p.close();
});

test.run();
