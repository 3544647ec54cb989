// limit: 240
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, openPage } from '../fixtures/chromium.ts';
import { walkPages } from '../fixtures/walk-pages.ts';
import { openHostileConsole } from './hostile-tenant.ts';

const given = chromium === undefined ? null : await openHostileConsole();

browserTest(
  'the pages of the platform with hostile texts in every field run none of them, have no accessibility violation, and fit a window of 320 pixels',
  async () => {
    const { browser, p, pages, states } = given!;
    const ofPlatform = [...pages, ...states].filter(({ url }) => !url.startsWith(p.base));
    assert.ok(ofPlatform.length > 14);
    assert.equal(await walkPages(browser, p.cookie, ofPlatform), []);
  },
);

browserTest('the pages for signing in have no accessibility violation, and fit a window of 320 pixels', async () => {
  const hostile = encodeURIComponent('/console/"><img src=x onerror=alert(1)>');
  const pages = ['/console/sign-in', `/console/sign-in?ended=1&return_to=${hostile}`, '/console/in#code'];
  assert.equal(
    await walkPages(
      given!.browser,
      '',
      pages.map((url) => ({ name: url, url })),
    ),
    [],
  );
});

browserTest('the fixture reports dialogs, inline scripts that the policy blocks, and requests to other hosts', async () => {
  const { page, faults } = await openPage(given!.browser, '');
  await page.goto('/console/sign-in');
  await page.evaluate(`document.body.append(Object.assign(document.createElement('script'), { textContent: 'alert(1)' }))`);
  await page.evaluate(`fetch('https://elsewhere.example/').catch(() => {})`);
  await page.evaluate(`alert('hello')`);
  await page.waitForTimeout(200);
  for (const part of ['content security policy: script-src', 'content security policy: connect-src', 'dialog: hello'])
    assert.ok(
      faults.found.some((fault) => fault.includes(part)),
      `${part} in ${faults.found.join(' | ')}`,
    );
  await page.context().close();
});

test('clean-up: the browser and the platform close', async () => {
  await given?.close();
});

test.run();
