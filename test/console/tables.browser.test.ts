// limit: 240
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { ALL_RULES, violationsOn } from '../fixtures/accessibility.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { seedConsole, startConsole } from '../fixtures/console-platform.ts';
import { createRunner } from '../fixtures/console-sessions.ts';
import { addMember } from '../fixtures/users.ts';

const LONG = 'A very long name that no phone shows in one line, with averyveryveryveryveryveryverylongword';

const stage = async () => {
  const p = await startConsole();
  const { agent } = await seedConsole(p);
  await createRunner(p, agent);
  await addMember(p, 'AUDITOR');
  await p.send('POST', `${p.tenant}/api-keys`, { body: { name: LONG } });
  await p.send('POST', `${p.tenant}/webhook-integrations`, {
    body: { provider: 'github', agent_id: agent, label: LONG, secret: 'a'.repeat(32) },
  });
  await p.send('POST', '/admin/allowed-accounts', { body: { email: 'someone.with.a.long.name@accounts.example.com' } });
  await p.send('PUT', `${p.tenant}/guardrails`, {
    body: [
      { name: 'long word', kind: 'pattern', action: 'block', options: { pattern: 'averyveryveryveryveryveryverylongword'.repeat(4) } },
    ],
  });
  await p.send('PUT', `${p.tenant}/redaction-patterns`, { body: [{ pattern: 'CUST-\\d{6}', tag: LONG }] });
  await p.send('POST', `${p.tenant}/agents/${agent}/memory`, { body: { text: LONG.repeat(3), source: 'pull request 42' } });
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  const at = `${p.base}/agents/${agent}`;
  const lists: readonly string[] = [
    ...[
      '/members',
      '/integrations',
      '/sessions',
      '/api-keys',
      '/jobs',
      '/events',
      '/schedules',
      '/agents',
      '/deliveries',
      '/deliveries/problems',
      '/guardrails',
      '/costs',
    ].map((path) => `${p.base}${path}`),
    ...['/integrations', '/sessions', '/cron-jobs', '/runner', '/memory'].map((path) => `${at}${path}`),
    ...['/tenants', '/users', '/plans', '/allowed-accounts'].map((path) => `/console/platform${path}`),
    '/console/me',
  ];
  return { p, agent, server, lists, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

const WIDTHS = [320, 375, 768, 1024, 1440];

type Row = {
  readonly name: string;
  readonly values: readonly string[];
  readonly unlabelled: readonly string[];
  readonly isNameVisible: boolean;
};

/** Reads what each row of the tables shows: its name, its visible values, and those that have no visible label. */
const READ_ROWS = `[...document.querySelectorAll('.data > tbody > tr')].map((row) => {
  const textOf = (cell) => {
    const copy = cell.cloneNode(true);
    for (const time of copy.querySelectorAll('relative-time')) time.textContent = time.getAttribute('datetime');
    return copy.textContent.replace(/\\s+/g, ' ').trim();
  };
  const isVisible = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 1 && height > 1 && element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  };
  const cells = [...row.cells].filter((cell) => textOf(cell) !== '' && !cell.classList.contains('menu-cell'));
  const head = row.closest('table').querySelector('thead').getBoundingClientRect();
  const isLabelled = (cell) =>
    head.height > 5 || cell.matches('.main-cell, .state-cell') || getComputedStyle(cell, '::before').content === JSON.stringify(cell.dataset.label);
  const name = row.querySelector('.event');
  return {
    name: name.textContent,
    values: cells.filter(isVisible).map(textOf),
    unlabelled: cells.filter((cell) => !isLabelled(cell)).map(textOf),
    isNameVisible: isVisible(name) && name.scrollWidth <= name.parentElement.getBoundingClientRect().width + 1,
  };
})`;

browserTest('each row of a list has the same values at every width, each with its label, and no page is scrolled sideways', async () => {
  const { p, browser, lists } = given!;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1440, height: 900 } });
  const wrong: string[] = [];
  for (const path of lists) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(path);
    await page.evaluate(`for (const closed of document.querySelectorAll('details:has(.data)')) closed.open = true`);
    const wide = (await page.evaluate(READ_ROWS)) as readonly Row[];
    if (wide.length === 0) wrong.push(`${path} has no rows`);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      const rows = (await page.evaluate(READ_ROWS)) as readonly Row[];
      const sideways = await page.evaluate(
        `[document.documentElement, ...document.querySelectorAll('.table-box:has(> .data)')].some((one) => one.scrollWidth > one.clientWidth + 1)`,
      );
      if (sideways) wrong.push(`${path} at ${width}: is scrolled sideways`);
      for (const [index, { name, values, unlabelled, isNameVisible }] of rows.entries()) {
        const expected = wide[index]?.values ?? [];
        if (values.join('|') !== expected.join('|')) wrong.push(`${path} at ${width}: ${values} instead of ${expected}`);
        if (unlabelled.length > 0) wrong.push(`${path} at ${width}: ${name} has no label at ${unlabelled}`);
        if (!isNameVisible) wrong.push(`${path} at ${width}: the name ${name} is not visible`);
      }
    }
  }
  assert.equal([wrong, faults.found], [[], []]);
  await page.context().close();
});

browserTest('the latest deliveries of an agent fit into their card, without a column for the agent', async () => {
  const { p, browser, agent } = given!;
  const { page } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  await page.goto(`${p.base}/agents/${agent}`);
  const box = page.locator('.table-box', { hasText: 'Latest deliveries' });
  assert.equal(await box.locator('th').allInnerTexts(), ['Event', 'State', 'Took', 'Received']);
  assert.not.ok(await box.evaluate('(one) => one.scrollWidth > one.clientWidth'));
  await page.context().close();
});

const openMenu = async (page: Page, name: string): Promise<void> => {
  await page.locator('.data tr', { hasText: name }).locator('[data-menu]').click();
  await page.waitForSelector('.menu-box:popover-open');
};

for (const width of [1280, 375])
  browserTest(`at ${width} px, "…" opens the actions on a row in the window, and a removal names what it removes`, async () => {
    const { p, browser } = given!;
    const { page, faults } = await openPage(browser, p.cookie, { viewport: { width, height: 800 } });
    await page.goto(`${p.base}/api-keys`);
    assert.is(await page.locator('.data form').count(), 0, 'a table has no forms');
    assert.not.ok(await page.locator('a:has-text("Revoke")').first().isVisible());
    await openMenu(page, LONG);
    const box = (await page.locator('.menu-box:popover-open').boundingBox())!;
    assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= 800, JSON.stringify(box));
    if (width < 600) assert.ok(box.y + box.height > 790 && box.width === width, 'on a phone, the menu is at the bottom of the screen');
    // On a phone, the word by which this check knows that there are fonts is in the closed navigation.
    assert.equal(
      (await violationsOn(page, ALL_RULES)).filter((one) => !one.startsWith('the word')),
      [],
    );
    await page.click('.menu-box:popover-open a:has-text("Revoke")');
    await page.waitForURL('**/console/run/revokeApiKey**');
    assert.match(await page.innerText('main'), new RegExp(`About ${LONG}`));
    assert.equal(faults.found, []);
    await page.context().close();
  });

browserTest('a click anywhere on a row opens its page, and "…" does not', async () => {
  const { p, browser } = given!;
  const { page } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  await page.goto(`${p.base}/members`);
  const box = (await page.locator('.data tbody tr').first().boundingBox())!;
  await page.locator('.data [data-menu]').first().click();
  assert.match(page.url(), /\/members$/);
  await page.keyboard.press('Escape');
  await page.mouse.click(box.x + box.width / 2, box.y + 4);
  await page.waitForURL('**/members/c*');
  await page.context().close();
});

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
