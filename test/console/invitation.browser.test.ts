import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { ALL_RULES, violationsOn } from '../fixtures/accessibility.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { startConsole } from '../fixtures/console-platform.ts';

const stage = async () => {
  const p = await startConsole();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

browserTest('an owner invites a person who can only read, and the person joins by the link in another browser', async () => {
  const { p, browser } = given!;
  const owner = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  await owner.page.goto(`${p.base}/members`);
  await owner.page.click('a[href*="inviteMember"]');
  await owner.page.fill('[name="/email"]', 'daniel@example.com');
  await owner.page.check('[name="/role"][value="AUDITOR"]');
  await owner.page.click('.form-actions button');
  await owner.page.waitForSelector('[data-secret]');
  const link = await owner.page.innerText('.secret-value code');
  assert.match(link, /^http:\/\/annals\.test\/console\/invitation#inv_/);

  const person = await openPage(browser, '', { viewport: { width: 375, height: 812 } });
  const urls: string[] = [];
  person.page.on('request', (request) => void urls.push(`${request.url()} ${request.headers().referer ?? ''}`));
  await person.page.goto(link);
  await person.page.waitForSelector('button:has-text("Join")');
  assert.match(await person.page.innerText('main'), /invites you to .* as AUDITOR/);
  assert.not.ok(person.page.url().includes('inv_'), 'the token leaves the address');
  assert.equal(await violationsOn(person.page, ALL_RULES), []);
  await person.page.click('button:has-text("Join")');
  await person.page.waitForSelector('[data-secret]');
  assert.match(await person.page.innerText('[data-secret]'), /ann_/);
  assert.equal(await violationsOn(person.page, ALL_RULES), []);
  await person.page.click('a:has-text("I have copied it")');
  await person.page.waitForLoadState();
  assert.match(person.page.url(), new RegExp(`${p.base}\\?after=`), await person.page.content());
  await person.page.goto(`${p.base}/audit`);
  assert.is(await person.page.locator('h1').innerText(), 'Audit log');
  assert.is(await person.page.locator('a[href*="createAgent"]').count(), 0);
  const leaked = urls.filter((one) => one.slice(one.indexOf('/console')).includes('inv_') && !one.includes('#'));
  assert.equal([leaked, owner.faults.found, person.faults.found], [[], [], []]);
  for (const { page } of [owner, person]) await page.context().close();
});

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
