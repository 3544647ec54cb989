// limit: 240
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { ALL_RULES, violationsOn } from '../fixtures/accessibility.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { seedConsole, startConsole } from '../fixtures/console-platform.ts';

const stage = async () => {
  const p = await startConsole();
  const seeded = await seedConsole(p);
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  const browser = await launchChromium(server.port);
  const pages: Readonly<Record<string, string>> = {
    deliveries: `${p.base}/deliveries`,
    delivery: `${p.base}/deliveries/${seeded.accepted}`,
    ...seeded.pages,
  };
  return { p, server, browser, pages, agent: seeded.agent };
};
const given = chromium === undefined ? null : await stage();

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
  await page.waitForURL(({ searchParams }) => searchParams.get('open') === first.split('/').at(-1));
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

browserTest('a form that is filled in and sent by the browser takes effect, also on plain http of a host other than loopback', async () => {
  const { browser, p } = given!;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  await page.goto(`/console/run/createAgent?tenant_id=${p.tenant_id}`);
  await page.fill('[name="/name"]', 'Typed in a browser');
  await page.fill('[name="/slug"]', 'typed-in-a-browser');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/agents/*');
  assert.match(await page.innerText('h1'), /Typed in a browser/);
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('the texts of a memory stay within their cell, also on a phone', async () => {
  const { browser, p, agent } = given!;
  for (const text of ['x'.repeat(600), 'word '.repeat(120)]) await p.send('POST', `${p.tenant}/agents/${agent}/memory`, { body: { text } });
  await p.waitForProjections();
  for (const width of [1280, 390]) {
    const { page, faults } = await openPage(browser, p.cookie, { viewport: { width, height: 800 } });
    await page.goto(`${p.base}/agents/${agent}/memory`);
    const fits = await page.evaluate(`[...document.querySelectorAll('.main-cell')].map((cell) => cell.scrollWidth <= cell.clientWidth)`);
    assert.equal([fits, faults.found], [[true, true], []], `${width}`);
    await page.context().close();
  }
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

browserTest('if an agent is edited in two tabs, the second one shows three columns, keeps its text, and can then save it', async () => {
  const { browser, p, agent } = given!;
  const tab = () => openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  const [one, other] = [await tab(), await tab()];
  const field = '[name="/description"]';
  const before = String(((await p.send('GET', `${p.tenant}/agents/${agent}`)).body as { description: string }).description);
  for (const { page } of [one, other]) await page.goto(`/console/run/updateAgent?tenant_id=${p.tenant_id}&agent_id=${agent}`);
  await one.page.fill(field, 'From one tab');
  await one.page.click('.form-actions button');
  await one.page.waitForURL(`**/agents/${agent}**`);
  await other.page.fill(field, 'From another tab');
  await other.page.click('.form-actions button');
  await other.page.waitForSelector('[data-conflict]');
  const cells = await other.page.locator('[data-conflict] tr[data-field="description"] > *').allInnerTexts();
  assert.equal(cells, ['Description', 'From another tab', 'From one tab', before]);
  assert.is(await other.page.inputValue(field), 'From another tab');
  assert.equal(await violationsOn(other.page, ALL_RULES), []);
  await other.page.click('.form-actions button');
  await other.page.waitForURL(`**/agents/${agent}**`);
  assert.match(await other.page.innerText('main'), /From another tab/);
  const found = [...one.faults.found, ...other.faults.found].filter((fault) => !fault.includes('412'));
  assert.equal(found, []);
  for (const { page } of [one, other]) await page.context().close();
});

/** The pause between requests is 300 ms. On a busy machine, the first of two can start late. Keys come every 60 ms. */
const MIN_PAUSE_MS = 200;

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
    for (const [index, at] of sent.slice(1).entries()) assert.ok(at - sent[index]! >= MIN_PAUSE_MS, `${at - sent[index]!} ms`);
    assert.equal(await violationsOn(page, ALL_RULES), []);

    await page.goto(pages['form-trial']!);
    const pattern = '[name="/redaction_patterns/0/pattern"]';
    await page.click('[data-pointer="/redaction_patterns/0"] summary');
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

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
