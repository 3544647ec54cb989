// limit: 180
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { ALL_RULES, violationsOn } from '../fixtures/accessibility.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { startConsole } from '../fixtures/console-platform.ts';
import { documentFiles } from '../fixtures/documents.ts';

const stage = async () => {
  const p = await startConsole();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

const PATHS = ['/guides', '/guides?q=mail', '/guides/nowhere', ...documentFiles.slice(1).map((file) => `/guides/${file.slice(5, -3)}`)];
const IS_WIDE = 'document.documentElement.scrollWidth > innerWidth';

browserTest('every guide is accessible, and no browser of 320 to 1440 pixels has to scroll it sideways', async () => {
  const { page, faults } = await openPage(given!.browser, '', { viewport: { width: 1440, height: 900 } });
  for (const path of PATHS) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(path);
    assert.equal(await violationsOn(page, ALL_RULES), [], path);
    for (const width of [320, 375, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      assert.not.ok(await page.evaluate(IS_WIDE), `${path} at ${width} pixels`);
    }
    assert.equal(await violationsOn(page, ALL_RULES), [], `${path} at 1280 pixels`);
  }
  assert.equal(
    faults.found.filter((fault) => !fault.includes('404')),
    [],
  );
  await page.context().close();
});

browserTest('Ctrl K on a guide finds the headings of all guides without a session, and Enter opens one', async () => {
  const { page, faults } = await openPage(given!.browser, '', { viewport: { width: 1280, height: 800 } });
  await page.goto('/guides/tour');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('time zones');
  await page.waitForSelector('#palette-list [role="option"]');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/guides/console#the-past-and-time-zones');
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('on a phone, the menu of a guide opens the list of all guides, and the button copies a command', async () => {
  const { page, faults } = await openPage(given!.browser, '', { viewport: { width: 375, height: 700 }, hasTouch: true });
  await page.goto('/guides/tour');
  assert.not.ok(await page.isVisible('#nav'));
  await page.click('button.menu');
  await page.click('#nav a[href="/guides/webhooks"]');
  await page.waitForURL('**/guides/webhooks');
  await page.evaluate(`document.execCommand = () => (window.copied = document.querySelector('textarea').value, true)`);
  await page.locator('.code copy-button button').first().click();
  const [copied, shown] = await Promise.all([page.evaluate('window.copied'), page.locator('.code pre').first().textContent()]);
  assert.is(copied, shown);
  assert.equal(faults.found, []);
  await page.context().close();
});

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
