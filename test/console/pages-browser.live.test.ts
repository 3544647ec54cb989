// limit: 240
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, deliver, seedConsole, startConsole } from '../fixtures/console-platform.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The rules of the accessibility checker axe for WCAG 2.2, levels A and AA, and its rules for best practices. */
const ALL_RULES = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'] };
/** The rules whose results depend on colours. Only these rules can have different results in light and in dark mode. */
const COLOUR_RULES = { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }, resultTypes: ['violations'] };
/**
 * A text that would do harm without escaping: it would run as a script, end an attribute, or make the page too wide.
 */
const HOSTILE = `<img src=x onerror=alert(1)>"'\`</script>{{7*7}}${'W'.repeat(120)}`;

const stage = async () => {
  const p = await startConsole();
  const seeded = await seedConsole(p);
  await createAgent(p, 'W'.repeat(255), { slug: 'hostile', description: HOSTILE });
  await deliver(p, seeded.integration, HOSTILE, { [HOSTILE]: HOSTILE, direction: '\u202e' });
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  const browser = await launchChromium(server.port);
  const pages: Readonly<Record<string, string>> = {
    overview: p.base,
    deliveries: `${p.base}/deliveries`,
    delivery: `${p.base}/deliveries/${seeded.accepted}`,
    rejected: `${p.base}/deliveries/${seeded.rejected}`,
    agents: `${p.base}/agents`,
    agent: `${p.base}/agents/${seeded.agent}`,
    ...Object.fromEntries(
      ['runner', 'skills', 'cost', 'history', 'settings', 'access'].map((tab) => [tab, `${p.base}/agents/${seeded.agent}/${tab}`]),
    ),
    start: `${p.base}/start`,
    past: `${p.base}/agents?as_of=back`,
    'api-keys': `${p.base}/api-keys`,
    me: '/console/me',
    zone: '/console/zone',
    find: `${p.base}/find?q=review`,
    form: `/console/run/createAgent?tenant_id=${p.tenant_id}`,
    unknown: `${p.base}/nowhere`,
    'form-cron-job': `/console/run/createCronJob?tenant_id=${p.tenant_id}&agent_id=${seeded.agent}`,
    ...seeded.pages,
  };
  return { p, server, browser, pages, agent: seeded.agent };
};
const given = chromium === undefined ? null : await stage();

type Violation = { readonly id: string; readonly nodes: readonly { readonly html: string }[] };

const violationsOn = async (page: Page, rules: object): Promise<string[]> => {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(rules)})`)) as { violations: Violation[] };
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 160)} (${nodes.length})`);
};

const isTooWide = (page: Page): Promise<unknown> => page.evaluate('document.documentElement.scrollWidth > innerWidth');

browserTest(
  'no page has an error or an accessibility violation in light or dark mode, or is wider than a window of 320 or 375 pixels',
  async () => {
    const { browser, p, pages } = given!;
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, faults } = await openPage(browser, p.cookie, { colorScheme, viewport: { width: 1280, height: 800 } });
      for (const [name, path] of Object.entries(pages)) {
        const response = await page.goto(path);
        if (response!.status() !== (name === 'unknown' ? 404 : 200)) found.push(`${name}: status ${response!.status()}`);
        const violations = await violationsOn(page, colorScheme === 'light' ? ALL_RULES : COLOUR_RULES);
        found.push(...violations.map((violation) => `${name} ${colorScheme}: ${violation}`));
        if (colorScheme === 'dark') continue;
        for (const width of [375, 320]) {
          await page.setViewportSize({ width, height: 800 });
          if (await isTooWide(page)) found.push(`${name}: wider than ${width} px`);
        }
        await page.setViewportSize({ width: 1280, height: 800 });
      }
      found.push(...faults.found.filter((fault) => !fault.includes('404')));
      await page.context().close();
    }
    assert.equal(found, []);
  },
);

browserTest('with the keyboard alone, the first Tab reaches the skip link, and `j` and Enter open the first row of a list', async () => {
  const { browser, p, pages } = given!;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  await page.goto(pages.deliveries!);
  const focused = () => page.evaluate(`document.activeElement.getAttribute('href')`);
  await page.keyboard.press('Tab');
  assert.is(await focused(), '#main');
  assert.ok(await page.isVisible('a.skip'));
  await page.keyboard.press('j');
  const first = String(await focused());
  assert.match(first, /\/deliveries\/[^/]+$/);
  await page.keyboard.press('Enter');
  await page.waitForURL(`**${first}`);
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('the URL of a page contains the time zone: in another browser without a saved zone, it shows the same', async () => {
  const { browser, p, pages } = given!;
  const first = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  await first.page.context().addCookies([{ name: 'annals_zone', value: 'Asia%2FKathmandu', url: 'http://annals.test/console' }]);
  await first.page.goto(pages.delivery!);
  assert.match(first.page.url(), /zone=Asia%2FKathmandu$/);
  const second = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  await second.page.goto(first.page.url());
  const [one, other] = await Promise.all([first, second].map(({ page }) => page.locator('main').ariaSnapshot()));
  // Only how long ago something was can differ.
  const comparable = (text: string) => text.replaceAll(/\d+ (seconds?|minutes?) ago|now/g, '');
  assert.is(comparable(one!), comparable(other!));
  assert.match(await second.page.content(), /\+05:45/);
  await second.page.goto('/console/zone');
  await second.page.focus('#zone');
  await second.page.keyboard.type('Pacific/Ch');
  assert.is(await second.page.inputValue('#zone'), 'Pacific/Chatham');
  assert.equal([...first.faults.found, ...second.faults.found], []);
  for (const { page } of [first, second]) await page.context().close();
});

browserTest('Ctrl+K opens the search; pasting a delivery id and pressing Enter opens the page of the delivery', async () => {
  const { browser, p, pages } = given!;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  await page.goto(p.base);
  await page.keyboard.press('Control+k');
  await page.waitForSelector('dialog.palette[open]');
  await page.keyboard.insertText(pages.delivery!.split('/').at(-1)!);
  await page.waitForSelector('.palette [role="option"][aria-selected="true"]');
  assert.equal(await violationsOn(page, ALL_RULES), []);
  await page.keyboard.press('Enter');
  await page.waitForURL(`**${pages.delivery}`);
  await page.keyboard.press('Control+k');
  await page.waitForSelector('.palette [role="option"]');
  await page.keyboard.press('Escape');
  assert.not.ok(await page.isVisible('dialog.palette'));
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest(
  'while people type into a form with a preview, its result follows: at most one request per 300 ms, and the focus stays',
  async () => {
    const { browser, p, pages, agent } = given!;
    const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
    await p.send('PUT', `${p.tenant}/redaction-patterns`, { body: [{ tag: 'name', pattern: 'Nobody' }] });
    const events = p.log.events.length;
    await page.goto(`/console/run/createCronJob?tenant_id=${p.tenant_id}&agent_id=${agent}`);
    await page.focus('[name="/cron_expr"]');
    await page.keyboard.type('30 8 * * MON-FRI', { delay: 60 });
    await page.waitForSelector('[data-words]:has-text("At 08:30, Monday to Friday, UTC")');
    assert.is(await page.evaluate('document.activeElement.name'), '/cron_expr');
    assert.equal(await page.$$('.field-error'), [], 'a field into which nothing was typed has no error');
    await page.keyboard.type('x');
    await page.waitForSelector('[data-pointer="/cron_expr"] .field-error');
    assert.is(await page.getAttribute('[name="/cron_expr"]', 'aria-invalid'), 'true');
    const startTimes = `performance.getEntriesByType('resource').filter((one) => one.initiatorType === 'fetch').map((one) => one.startTime)`;
    const sent = (await page.evaluate(startTimes)) as number[];
    assert.ok(sent.length > 1, `${sent.length} requests`);
    for (const [index, at] of sent.slice(1).entries()) assert.ok(at - sent[index]! >= 295, `${at - sent[index]!} ms`);
    assert.equal(await violationsOn(page, ALL_RULES), []);

    await page.goto(pages['form-trial']!);
    const pattern = '[name="/redaction_patterns/0/pattern"]';
    await page.focus(pattern);
    await page.keyboard.type('Reviewer');
    await page.waitForSelector('[data-trial]');
    assert.is(await page.evaluate('document.activeElement.name'), '/redaction_patterns/0/pattern');
    await page.fill(pattern, '(a{1000}){1000}');
    await page.waitForSelector('[data-pointer="/redaction_patterns/0/pattern"] > .field-error');
    assert.is(p.log.events.length, events);
    assert.equal(
      faults.found.filter((fault) => !fault.includes('422')),
      [],
    );
    await page.context().close();
  },
);

test('clean-up: the browser and the platform close', async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
