// limit: 180
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, createCronJob, createIntegration, deliver, seedConsole, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';

const stage = async () => {
  const p = await startConsole();
  const seeded = await seedConsole(p);
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  const browser = await launchChromium(server.port);
  return { p, seeded, server, browser };
};
const given = chromium === undefined ? null : await stage();

/** Runs `use` on a page in a window of the size of a phone. Checks that no page of the flow has to be scrolled sideways. */
const onPhone = async (use: (page: Page) => Promise<void>): Promise<void> => {
  const { page, faults } = await openPage(given!.browser, given!.p.cookie, { viewport: { width: 375, height: 812 }, hasTouch: true });
  const wide: string[] = [];
  page.on('load', async () => {
    const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth').catch(() => false);
    if (isWide) wide.push(page.url());
  });
  await use(page);
  assert.equal([...wide, ...faults.found.filter((fault) => !fault.includes('404'))], []);
  await page.context().close();
};

browserTest('on a phone, a delivery can be found in the list, read and sent again', () =>
  onPhone(async (page) => {
    const { p, seeded } = given!;
    await page.goto(`${p.base}/deliveries`);
    await page.tap(`a[href*="${seeded.accepted}"]`);
    await page.waitForURL(`**/deliveries/${seeded.accepted}`);
    await page.waitForSelector('.json');
    const button = page.locator('[data-form="redeliverDelivery"] button, [popovertarget^="confirm-redeliver"]').first();
    const asksFirst = (await button.getAttribute('popovertarget')) !== null;
    await button.tap();
    // A busy browser opens the question some time after the tap.
    if (asksFirst) await page.tap('dialog.confirm:popover-open form button');
    await page.waitForURL(`**/deliveries/${seeded.accepted}**after=**`);
    assert.is(p.eventsOf('DeliveryRequeued').length, 1);
  }),
);

browserTest('on a phone, an integration can be paused with a reason', () =>
  onPhone(async (page) => {
    const { p, seeded } = given!;
    const integration = await createIntegration(p, seeded.agent, 'annals/phone');
    await p.waitForProjections();
    await page.goto(`${p.base}/integrations/${integration}`);
    await page.tap('a[href*="updateWebhookIntegration"][href*="is_paused=true"]');
    await page.waitForURL('**/console/run/updateWebhookIntegration**');
    await page.fill('[name="/paused_reason"]', 'Too many pushes');
    await page.tap('.form-actions button');
    await page.waitForURL(`**/integrations/${integration}**`);
    assert.match(await page.innerText('main'), /Too many pushes/);
  }),
);

/** Returns, in the browser, the words of the month that are broken into several lines. */
const BROKEN_WORDS = `(() => {
  const found = [];
  const texts = document.createTreeWalker(document.querySelector('.strip'), NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode())
    for (const word of node.textContent.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) found.push(word[0]);
    }
  return found;
})()`;

browserTest('on a phone, no word is broken in the month of a cron job, and what its marks mean is said below it', () =>
  onPhone(async (page) => {
    const { p } = given!;
    const agent = await createAgent(p, 'Every minute');
    const job = await createCronJob(p, agent, { name: 'Each minute', cron_expr: '* * * * *' });
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const blackout = { name: 'Freeze', start_date: tomorrow, end_date: tomorrow, timezone: 'UTC' };
    assert.is((await p.send('POST', `${p.tenant}/cron-blackouts`, { body: blackout })).status, 201);
    await p.waitForProjections();
    await page.goto(`${p.base}/agents/${agent}/cron-jobs/${job}?date=${tomorrow}`);
    assert.match(await page.innerText(`.strip [data-date="${tomorrow}"]`), /1,440/);
    assert.equal(await page.evaluate(BROKEN_WORDS), []);
    assert.match(await page.innerText('.legend'), /suppressed/);
  }),
);

browserTest('on a phone, a deleted agent can be restored', () =>
  onPhone(async (page) => {
    const { p, seeded } = given!;
    const path = `${p.base}/agents/${seeded.agent}`;
    assert.is((await p.send('DELETE', `${p.tenant}/agents/${seeded.agent}`)).status, 204);
    await p.waitForProjections();
    await page.goto(path);
    assert.match(await page.innerText('main'), /This agent is deleted/);
    await page.tap('[data-form="restoreAgent"] button');
    // The address remains the same, so only the content shows that the form was sent.
    await page.waitForSelector('main:not(:has-text("This agent is deleted")) :is(.tabs, nav)');
    assert.is(p.eventsOf('AgentRestored').length, 1);
  }),
);

browserTest('on a page that shows the past, the time is below the names of the page at every width', () =>
  onPhone(async (page) => {
    for (const width of [375, 1280])
      for (const path of ['', '/agents', '/deliveries', '/deliveries/problems']) {
        await page.setViewportSize({ width, height: 812 });
        await page.goto(`${given!.p.base}${path}?as_of=back`);
        const isBelow = `document.querySelector('.top .time').getBoundingClientRect().top >=
          document.querySelector('.top .breadcrumb').getBoundingClientRect().bottom`;
        assert.ok(await page.evaluate(isBelow), `${width} px ${path}`);
      }
  }),
);

browserTest('on a phone, long previews of payloads are shown whole, and cover nothing beside them', () =>
  onPhone(async (page) => {
    const { p, seeded } = given!;
    const hook = await createIntegration(p, seeded.agent, 'annals/long');
    for (const title of ['x'.repeat(200), 'Many words in a title '.repeat(20), '\u202Eabc <b>&amp;</b> \u05e9\u05dc\u05d5\u05dd'.repeat(9)])
      await deliver(p, hook, 'pull_request_review_comment', { pull_request: { title }, ref: title });
    await p.waitForProjections();
    for (const path of ['/deliveries', `/integrations/${hook}`]) {
      await page.goto(`${p.base}${path}`);
      const [found, covered] = (await page.evaluate(`[
        document.querySelectorAll('.preview').length,
        [...document.querySelectorAll('tr:has(.preview)')].filter((row) => {
          const at = (selector) => row.querySelector(selector).getBoundingClientRect();
          return at('.preview').bottom > at('.state-cell').top || at('.preview').right > innerWidth || row.scrollWidth > row.clientWidth;
        }).length,
      ]`)) as [number, number];
      assert.ok(found >= 3, `${path} has previews`);
      assert.is(covered, 0, path);
      assert.not.ok(await page.evaluate(`[...document.querySelectorAll('.table-box')].some((one) => one.scrollWidth > one.clientWidth)`));
    }
  }),
);

/** Returns the page if it is wider than the window, and the parts of messages that end outside their card. */
const TOO_WIDE = `[
  ...(document.documentElement.scrollWidth > innerWidth ? ['the page'] : []),
  ...[...document.querySelectorAll('.messages :is(.markdown, pre, .table-box)')]
    .filter((one) => one.getBoundingClientRect().right > one.closest('.card').getBoundingClientRect().right)
    .map((one) => one.className || one.tagName),
]`;

browserTest('a long line of code and a wide table in a message are scrolled inside the message at every width', () =>
  onPhone(async (page) => {
    const { p } = given!;
    const { id, runner } = await seedSession(p, await createAgent(p, 'Writer'));
    const cells = (text: string) => `|${`${text}|`.repeat(30)}`;
    const content = `\`\`\`\n${'x'.repeat(400)}\n\`\`\`\n\n${cells('column')}\n${cells('-')}\n${cells('value')}`;
    const said = await p.send('POST', `${p.tenant}/sessions/${id}/messages`, { key: runner, body: { role: 'assistant', content } });
    assert.is(said.status, 201, said.text);
    await p.waitForProjections();
    for (const width of [320, 375, 480, 768, 1280]) {
      await page.setViewportSize({ width, height: 812 });
      await page.goto(`${p.base}/sessions/${id}`);
      assert.is(await page.locator('.markdown pre').count(), 1);
      assert.equal(await page.evaluate(TOO_WIDE), [], `at ${width}`);
    }
  }),
);

/** Reads, for each table of the page, whether its column titles are visible, each above the cells of its column. */
const READ_TITLES = `[...document.querySelectorAll('table.grid')].map((table) => {
  const titles = [...table.querySelectorAll('thead th')].map((one) => one.getBoundingClientRect());
  const isAbove = (cell, index) => titles[index].height > 5 && Math.abs(titles[index].left - cell.getBoundingClientRect().left) < 2;
  return [...table.querySelectorAll('tbody tr')].every((row) => [...row.cells].slice(1).every((cell, index) => isAbove(cell, index + 1)));
})`;

browserTest('on a phone, the access grid keeps the titles of its columns, and each cell of the matrix names its agent', () =>
  onPhone(async (page) => {
    const { p } = given!;
    await createAgent(p, 'Second');
    await p.waitForProjections();
    for (const width of [320, 375, 480]) {
      await page.setViewportSize({ width, height: 812 });
      await page.goto(`${p.base}/access`);
      assert.equal(await page.evaluate(READ_TITLES), [true], `at ${width}`);
      const unnamed = await page.evaluate(`[...document.querySelectorAll('.matrix .cell:not(.merged)')].filter(
        (cell) => getComputedStyle(cell, '::before').content !== JSON.stringify(cell.dataset.label)).length`);
      assert.is(unnamed, 0, `at ${width}`);
    }
  }),
);

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
