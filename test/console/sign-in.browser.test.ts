import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isKey } from '../../api/console/browser/sign-in-key.mjs';
import { BASE62 } from '../../domain/checksum.ts';
import { buildKey, publicIdOf } from '../../domain/identity/api-key-format.ts';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { startConsole } from '../fixtures/console-platform.ts';
import { timeout } from '../fixtures/live-console.ts';

const stage = async () => {
  const p = await startConsole();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

/** Returns the key with another character at this place. */
const mistyped = (key: string, at: number): string => key.slice(0, at) + (key[at] === 'A' ? 'B' : 'A') + key.slice(at + 1);

test('the sign-in page finds the typing errors in a key that the API finds', () => {
  for (const secret of ['0', 'z', 'Ab1'].map((text) => text.repeat(32).slice(0, 32))) {
    const key = buildKey(BASE62.slice(10, 18), secret);
    const texts = [key, '', 'ann_', `${key}0`, key.slice(1), ...[...key].map((_, at) => mistyped(key, at))];
    for (const text of texts) assert.is(isKey(text), publicIdOf(text) !== null, text);
    assert.ok(isKey(key));
  }
});

browserTest(
  'a key with a typing error is not sent: the sign-in page says that it is wrong, and signs in with the corrected key',
  async () => {
    const { p, browser } = given!;
    const { page, faults } = await openPage(browser, '', {});
    const posted: string[] = [];
    page.on('request', (request) => void (request.method() === 'POST' && posted.push(request.url())));
    await page.goto('/console/sign-in');
    const wrong = [mistyped(p.key, p.key.length - 12), p.key.slice(0, -1)];
    for (const key of wrong) {
      await page.fill('#key', key);
      await page.keyboard.press('Enter');
      await page.waitForTimeout(200);
      assert.ok(await page.evaluate(`document.querySelector('#key').validity.customError`), key);
      assert.match(String(await page.evaluate(`document.querySelector('#key').validationMessage`)), /wrong or missing/);
    }
    assert.equal(posted, []);
    assert.match(page.url(), /\/console\/sign-in$/);
    await page.fill('#key', `${p.key} `);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${p.base}`, timeout());
    assert.is(posted.length, 1);
    assert.equal(faults.found, []);
    await page.context().close();
  },
);

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
