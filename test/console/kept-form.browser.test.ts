// limit: 240
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { timeout } from '../fixtures/live-console.ts';
import { CLIENT, startIssuer } from '../fixtures/oidc-issuer.ts';
import { SOMEBODY } from '../fixtures/sign-in-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

const SECRET = 'a secret that nobody may keep';

const stage = async () => {
  const issuer = await startIssuer();
  const p = await startConsole({ issuer: { oidcIssuer: issuer.url, oidcClientId: CLIENT.id, oidcClientSecret: CLIENT.secret } });
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { issuer, p, server, agent: await createAgent(p, 'Reviewer'), browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

const opened = async (cookie: string) => {
  const { page, faults } = await openPage(given!.browser, cookie, { viewport: { width: 1280, height: 800 } });
  const end = async () => {
    // The pages of the issuer are of another host; a browser reports answers that refuse something.
    assert.equal(
      faults.found.filter((one) => !/^other host: |fonts.googleapis.com|ERR_NAME_NOT_RESOLVED|status of (403|404|409|422)/.test(one)),
      [],
    );
    await page.context().close();
  };
  return { page, end };
};

const atIssuer = async (page: Page, name: string): Promise<void> => {
  await page.waitForSelector('[name="login"]', timeout());
  await page.fill('[name="login"]', name);
  await page.fill('[name="password"]', 'any');
  await page.click('[type="submit"]');
  for (;;) {
    await page.waitForLoadState();
    if (page.url().startsWith('http://annals.test/')) return;
    if (await page.$('[name="prompt"][value="consent"]')) await page.click('[type="submit"]');
    else await page.waitForTimeout(50);
  }
};

const withKey = async (page: Page, key: string): Promise<void> => {
  await page.waitForSelector('#key', timeout());
  await page.fill('#key', key);
  await page.click('form[action="/console/sign-in"] button');
};

const stored = (page: Page): Promise<string> => page.evaluate('JSON.stringify({ ...sessionStorage })');

browserTest('the form of an erasure has what was typed again after the sign-in that it has asked for', async () => {
  const { p } = given!;
  const other = await createSecondTenant(p);
  await p.send('POST', '/admin/allowed-accounts', { body: { email: SOMEBODY } });
  const { page, end } = await opened('');
  await page.goto('/auth/login');
  await atIssuer(page, 'somebody');
  const [cookie] = await page.context().cookies('http://annals.test');
  const headers = { cookie: `${cookie!.name}=${cookie!.value}`, ...OWN_PAGE };
  const { user } = (await p.send('GET', '/me', { key: '', headers })).body as { user: { id: string } };
  assert.is((await p.send('PATCH', `/api/v1/admin/users/${user.id}`, { body: { is_super_admin: true } })).status, 200);
  const { name } = (await p.send('GET', `/admin/tenants/${other.id}`)).body as { name: string };
  await page.goto(`/console/run/eraseTenant?tenant_id=${other.id}`);
  await page.fill('[name="/reason"]', 'The customer left');
  await page.fill('[name="_name"]', name);
  const now = p.clock.now;
  p.clock.now = () => Date.now() + 16 * 60_000;
  await page.click('form[data-form="eraseTenant"] [data-act]');
  await page.waitForSelector('[data-sign-in]', timeout());
  p.clock.now = now;
  await page.fill('[name="/reason"]', 'The customer\nhas left');
  await page.click('[data-sign-in]');
  await atIssuer(page, 'somebody');
  await page.waitForSelector('.note:has-text("what you typed is here again")', timeout());
  assert.equal(
    [await page.inputValue('[name="/reason"]'), await page.inputValue('[name="_name"]'), await stored(page)],
    ['The customer\nhas left', name, '{}'],
  );
  assert.is((await p.send('GET', `/admin/tenants/${other.id}`)).status, 200, 'nothing was sent');
  const [sent] = await Promise.all([
    page.waitForResponse((answer) => answer.request().method() === 'POST', timeout()),
    page.click('form[data-form="eraseTenant"] [data-act]'),
  ]);
  assert.is.not(sent.status(), 403, 'the sign-in is recent now');
  await end();
});

browserTest('a form that is sent after the session has ended is filled in again, without the secret, which it says', async () => {
  const { p, agent } = given!;
  const { page, end } = await opened(p.cookie);
  const form = `/console/run/connectWebhookIntegration?tenant_id=${p.tenant_id}&agent_id=${agent}`;
  const typeAndSend = async (label: string) => {
    await page.goto(form);
    await page.check('[name="/provider"][value="github"]');
    await page.fill('[name="/label"]', label);
    await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
    const made = page.locator('[name="_one/secret"]:not(:checked)');
    if (await made.count()) await made.first().check();
    await page.fill('[name="/secret"]', SECRET);
    await page.context().clearCookies();
    await page.click('form[data-form="connectWebhookIntegration"] [data-act]');
    await page.waitForSelector('text=What you typed is kept in this tab', timeout());
    assert.not.match(await stored(page), SECRET);
  };
  await typeAndSend('northwind/storefront');
  await withKey(page, p.key);
  await page.waitForSelector('.note:has-text("what you typed is here again")', timeout());
  assert.equal(
    [await page.inputValue('[name="/label"]'), await page.inputValue('[name="/secret"]'), await stored(page)],
    ['northwind/storefront', '', '{}'],
  );
  assert.match(await page.locator('[data-pointer="/secret"]').first().innerText(), 'What you entered is not shown again: enter it again.');
  const entries = Number(await page.evaluate('history.length'));
  await typeAndSend('northwind/returns');
  await withKey(page, (await createSecondTenant(p, 'returns')).key);
  await page.waitForLoadState();
  assert.is(await page.locator('[name="/label"]').count(), 0, 'another person does not get it');
  assert.is(await stored(page), '{}');
  assert.ok(entries < 8);
  await end();
});

browserTest('the first message to an agent is in its field again after the sign-in, and the form asks for its files again', async () => {
  const { p, agent } = given!;
  const { page, end } = await opened(await p.signIn());
  await page.goto(`${p.base}/agents/${agent}/sessions`);
  const form = 'form[data-form="startSession"]';
  await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
  await page.fill(`${form} [name="/message/content"]`, 'Why did it fail?\nSee the file.');
  await page.fill(`${form} [name="/title"]`, 'A failure');
  await page.setInputFiles(`${form} [type="file"]`, { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
  await page.context().clearCookies();
  await page.click(`${form} button.primary`);
  await withKey(page, p.key);
  await page.waitForURL(`**/agents/${agent}/sessions`, timeout());
  await page.waitForSelector(`${form} :text("Choose the files again")`, { ...timeout(), state: 'attached' });
  assert.equal(
    [await page.inputValue(`${form} [name="/message/content"]`), await page.inputValue(`${form} [name="/title"]`)],
    ['Why did it fail?\nSee the file.', 'A failure'],
  );
  await end();
});

afterLastTest(async () => {
  await given?.browser.close();
  given?.server.close();
  await given?.p.close();
  await given?.issuer.close();
});

test.run();
