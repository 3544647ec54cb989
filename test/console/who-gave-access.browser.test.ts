// limit: 240
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { registerUser } from '../../commands/identity/user.ts';
import * as Member from '../../domain/tenants/member.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';

const stage = async () => {
  const p = await startConsole();
  const ctx = p.systemContext(p.tenant_id);
  const { id: user_id } = await registerUser(ctx, 'daniel@example.com', 'Daniel Weiss');
  await ctx.transact(Tenant, p.tenant_id, Member.add(user_id, 'MEMBER', 'OWNER'));
  const agent = await createAgent(p, 'Refund Assistant');
  const given = await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${user_id}`, { body: { role: 'MANAGER' } });
  assert.is(given.status, 200, given.text);
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, agent, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

const fromOverview = async (act: (page: Page) => Promise<void>): Promise<void> => {
  const { browser, p, agent } = given!;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 900 } });
  await page.goto(p.base);
  await act(page);
  const line = page.locator(`[data-kind="member-access"][data-id="${agent}"]`);
  assert.match(await line.innerText(), /^Refund Assistant\s+MANAGER by Administrator,\s+\d+ \w{3} \d{4}, \d\d:\d\d/);
  assert.equal(faults.found, []);
  await page.context().close();
};

browserTest('who gave Daniel access to an agent, and when, is two clicks from the overview', () =>
  fromOverview(async (page) => {
    await page.click('.sidebar nav a:has-text("Members")');
    await page.click('[data-kind="member"] a:has-text("Daniel Weiss")');
    await page.waitForSelector('[data-kind="member-access"]');
  }),
);

browserTest('who gave Daniel access to an agent, and when, is found with the keyboard alone', () =>
  fromOverview(async (page) => {
    const { p } = given!;
    const keys = await page.getAttribute('.sidebar nav a:has-text("Members")', 'data-hotkey');
    for (const key of keys!.split(' ')) await page.keyboard.press(key);
    await page.waitForURL(`**${p.base}/members`);
    const isOnDaniel = `document.activeElement.matches('a') && document.activeElement.textContent.includes('Daniel Weiss')`;
    for (let row = 0; row < 5 && !(await page.evaluate(isOnDaniel)); row += 1) await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[data-kind="member-access"]');
  }),
);

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
