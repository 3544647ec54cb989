// limit: 240
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';

const stage = async () => {
  const p = await startConsole();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 375, height: 812 } } as const;

for (const [name, viewport] of Object.entries(SIZES))
  for (const javaScriptEnabled of [true, false])
    browserTest(
      `the user menu opens on a ${name} ${javaScriptEnabled ? 'with' : 'without'} JavaScript, and all of it can be reached`,
      async () => {
        const { browser, p } = given!;
        const { page } = await openPage(browser, p.cookie, { viewport, javaScriptEnabled });
        await page.goto(`${p.base}/members`);
        if (name === 'phone') await page.click('button.menu');
        await page.click('button.who');
        const menu = page.locator('#user-menu');
        const box = (await menu.boundingBox())!;
        assert.ok(
          box.x >= 0 && box.y >= 0 && box.x + box.width <= viewport.width && box.y + box.height <= viewport.height,
          JSON.stringify(box),
        );
        if (name === 'phone') assert.equal([box.x, box.width, box.y + box.height], [0, viewport.width, viewport.height]);
        const words = (await menu.innerText()).replaceAll(/\s+/g, ' ');
        for (const part of ['Your account and browsers', 'Theme', 'Times in UTC', 'Single keys: on', 'Guides', 'Sign out'])
          assert.ok(words.includes(part), words);
        await page.click('#user-menu [aria-label="dark theme"]');
        assert.is(await page.locator('html').getAttribute('data-theme'), 'dark');
        await page.context().close();
      },
    );

browserTest('on a very small screen, the user menu scrolls to each of its parts', async () => {
  const { browser, p } = given!;
  const { page } = await openPage(browser, p.cookie, { viewport: { width: 320, height: 240 } });
  await page.goto(`${p.base}/members`);
  await page.click('button.menu');
  await page.click('button.who');
  const box = (await page.locator('#user-menu').boundingBox())!;
  assert.ok(box.y >= 0 && box.y + box.height <= 240, JSON.stringify(box));
  for (const part of [page.getByText('Your account and browsers'), page.getByText('Sign out')]) {
    await part.scrollIntoViewIfNeeded();
    const { y, height } = (await part.boundingBox())!;
    assert.ok(y >= 0 && y + height <= 240, `${y}, ${height}`);
  }
  await page.context().close();
});

browserTest('a browser whose zone is not UTC is offered its zone on its first page only; the offer survives updates', async () => {
  const { browser, p } = given!;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: SIZES.desktop, timezoneId: 'Europe/Berlin' });
  await page.goto(`${p.base}/agents`);
  const offer = page.locator('zone-offer');
  await offer.waitFor({ state: 'visible' });
  await createAgent(p, 'Added meanwhile');
  await page.waitForSelector('main >> text=Added meanwhile');
  assert.ok(await offer.isVisible());
  assert.match(await offer.innerText(), /Show times in Europe\/Berlin/);
  await page.goto(`${p.base}/members`);
  assert.is(await offer.count(), 0);
  await page.context().clearCookies({ name: 'annals_zone_offered' });
  await page.goto(`${p.base}/agents`);
  await page.click('zone-offer [data-own]');
  await page.waitForURL(/zone=Europe/);
  assert.is(await offer.count(), 0);
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('keeping UTC ends the offer, and a browser whose zone is UTC gets none', async () => {
  const { browser, p } = given!;
  const { page } = await openPage(browser, p.cookie, { viewport: SIZES.phone, timezoneId: 'America/New_York' });
  await page.goto(`${p.base}/members`);
  await page.click('zone-offer [value="UTC"]');
  await page.context().clearCookies({ name: 'annals_zone_offered' });
  await page.goto(`${p.base}/members`);
  assert.is(await page.locator('zone-offer').count(), 0);
  await page.context().close();
  const other = await openPage(browser, p.cookie, { viewport: SIZES.phone, timezoneId: 'UTC' });
  await other.page.goto(`${p.base}/members`);
  await other.page.waitForFunction(`document.cookie.includes('annals_zone_offered')`);
  assert.not.ok(await other.page.locator('zone-offer').isVisible());
  await other.page.context().close();
});

browserTest('the counts of the navigation follow changes without a reload, and are part of the names of the links', async () => {
  const { browser, p } = given!;
  const agent = await createAgent(p, 'Stopped soon');
  const { page } = await openPage(browser, p.cookie, { viewport: SIZES.desktop });
  await page.goto(`${p.base}/agents`);
  await page.waitForSelector('#live[data-state="live"]');
  await p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { is_active: false } });
  await page.getByRole('link', { name: 'Agents 1 stopped' }).waitFor();
  await page.context().close();
});

afterLastTest(async () => {
  await given?.browser.close();
  await given?.server.close();
  await given?.p.close();
});

test.run();
