// limit: 240
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { ALL_RULES, violationsOn } from '../fixtures/accessibility.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { tabTo } from '../fixtures/keyboard.ts';

/** The id by which GitHub knows a delivery. */
const GITHUB_ID = '72d3162e-cc78-11e3-81ab-4c9367dc0958';

const stage = async () => {
  const p = await startConsole();
  const agents: Record<string, string> = {};
  for (const name of ['Refund Assistant', 'Pull Request Reviewer', 'Dependency Updater']) agents[name] = await createAgent(p, name);
  const integration = await createIntegration(p, agents['Refund Assistant']!, 'Payments');
  await deliver(p, integration, 'charge', {});
  const { id: wanted } = await deliver(p, integration, 'push', { n: 1 }, { headers: { 'x-github-delivery': GITHUB_ID } });
  await deliver(p, integration, 'issues', { n: 2 });
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, agents, integration, wanted: wanted!, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

const AGENT = '#filter-agent_id';
const OPTIONS = 'combo-box:has([name="agent_id"]) [role="option"]';

const onList = async (act: (page: Page) => Promise<void>, options: Parameters<typeof openPage>[2] = {}, query = ''): Promise<void> => {
  const { browser, p } = given!;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 }, ...options });
  await page.goto(`${p.base}/deliveries${query}`);
  await act(page);
  assert.equal(faults.found, []);
  await page.context().close();
};

const chosenIn = (page: Page): string | null => new URL(page.url()).searchParams.get('agent_id');

browserTest('with a pointer, a choice by name filters the list, is shown as a chip, and is removed by its button', async () => {
  const { agents } = given!;
  await onList(async (page) => {
    await page.click(AGENT);
    assert.equal(await page.locator(OPTIONS).allInnerTexts(), ['Dependency Updater', 'Pull Request Reviewer', 'Refund Assistant']);
    await page.click(`${OPTIONS}:has-text("Refund")`);
    await page.waitForURL(/agent_id=c/);
    assert.is(chosenIn(page), agents['Refund Assistant']);
    await page.click('button[aria-label="Remove Refund Assistant"]');
    await page.waitForURL((url) => !url.searchParams.get('agent_id'));
  });
});

browserTest('with the keyboard, typed words narrow the choices; Enter chooses, Escape closes, Backspace removes the choice', async () => {
  const { agents } = given!;
  await onList(async (page) => {
    await tabTo(page, AGENT);
    await page.keyboard.press('ArrowDown');
    assert.is(await page.getAttribute(AGENT, 'aria-expanded'), 'true');
    await page.keyboard.press('Escape');
    assert.is(await page.getAttribute(AGENT, 'aria-expanded'), 'false');
    await page.keyboard.type('up dep');
    assert.equal(await page.locator(OPTIONS).allInnerTexts(), ['Dependency Updater']);
    const active = await page.getAttribute(AGENT, 'aria-activedescendant');
    assert.is(await page.locator(`#${active}`).innerText(), 'Dependency Updater');
    await page.keyboard.press('Enter');
    await page.waitForURL(/agent_id=c/);
    assert.is(chosenIn(page), agents['Dependency Updater']);
    await tabTo(page, AGENT);
    await page.keyboard.press('Backspace');
    await page.waitForURL((url) => !url.searchParams.get('agent_id'));
  });
});

browserTest('in a form, a typed text is chosen if it means one agent; otherwise it stays and must be changed', async () => {
  const { agents, browser, p } = given!;
  const { page, faults } = await openPage(browser, p.cookie);
  await page.goto(`/console/run/connectWebhookIntegration?tenant_id=${p.tenant_id}`);
  const field = page.locator('[role="combobox"]');
  const state = () =>
    page.evaluate(`(({ value, validationMessage }) => [document.querySelector('select[name="/agent_id"]').value, value, validationMessage])(
      document.querySelector('[role="combobox"]'))`);
  const refused = 'Choose one of the list';
  for (const [typed, expected] of [
    ['er', ['', 'er', refused]],
    ['nothing', ['', 'nothing', refused]],
    ['  updat ', [agents['Dependency Updater'], '', '']],
    ['pull request reviewer', [agents['Pull Request Reviewer'], '', '']],
    ['', [agents['Pull Request Reviewer'], '', '']],
  ] as const) {
    await field.fill(typed);
    await page.keyboard.press('Tab');
    assert.equal(await state(), expected, typed);
  }
  await page.click('label:has([name="/provider"][value="github"])');
  await page.fill('[name="/label"]', 'Storefront');
  await field.fill('e');
  await page.click('main form button.primary:visible');
  assert.is(await page.evaluate(`document.activeElement.validationMessage`), refused);
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('a text that is typed in a filter is chosen if the focus moves to another filter', async () => {
  const { agents } = given!;
  await onList(async (page) => {
    await page.fill(AGENT, 'refund');
    await page.keyboard.press('Shift+Tab');
    await page.waitForURL(/agent_id=c/);
    assert.is(chosenIn(page), agents['Refund Assistant']);
  });
});

browserTest('if nothing matches, the list names what was searched', async () => {
  await onList(async (page) => {
    await page.fill(AGENT, 'nothing <b>');
    assert.is(await page.locator('combo-box:has([name="agent_id"]) [role="status"]').innerText(), 'No agent matches “nothing <b>”.');
  });
});

browserTest('a page with an open list has no accessibility violation, also with a choice', async () => {
  const { agents } = given!;
  for (const query of ['', `?agent_id=${agents['Refund Assistant']}`])
    await onList(
      async (page) => {
        await page.click(AGENT);
        assert.ok((await page.locator(OPTIONS).count()) >= 2);
        assert.equal(await violationsOn(page, ALL_RULES), []);
      },
      {},
      query,
    );
});

browserTest('without JavaScript, the same filter is a select with the same names', async () => {
  const { agents, browser, p } = given!;
  const { page } = await openPage(browser, p.cookie, { javaScriptEnabled: false });
  await page.goto(`${p.base}/deliveries?agent_id=${agents['Refund Assistant']}`);
  await page.selectOption('select[name="agent_id"]', { label: 'Pull Request Reviewer' });
  await page.click('main form button.primary:visible');
  assert.is(chosenIn(page), agents['Pull Request Reviewer']);
  await page.context().close();
});

browserTest('with more agents than a select may have, the combobox searches them while the user types', async () => {
  const { p } = given!;
  for (let index = 0; index < 198; index++) await createAgent(p, `Worker ${index}`);
  await p.waitForProjections();
  await onList(async (page) => {
    await page.fill(AGENT, 'worker 197');
    await page.click(`${OPTIONS}:has-text("Worker 197")`);
    await page.waitForURL(/agent_id=c/);
    assert.match(String(chosenIn(page)), /^c\w{24}$/);
    await page.waitForSelector('button[aria-label="Remove Worker 197"]');
    await page.click('button[aria-label="Remove Worker 197"]');
    await page.waitForURL((url) => !url.searchParams.get('agent_id'));
    await page.fill(AGENT, 'worker 196');
    await page.keyboard.press('Shift+Tab');
    await page.waitForSelector('button[aria-label="Remove Worker 196"]');
    await page.fill(AGENT, 'no such');
    await page.waitForSelector('text=No agent matches “no such”.');
  });
});

browserTest("a delivery is found by GitHub's id in two clicks and one field, and by the palette", async () => {
  const { p, wanted } = given!;
  const path = `${p.base}/deliveries/${wanted}`;
  await onList(async (page) => {
    await page.click('summary:has-text("Filter")');
    await page.fill('[name="provider_delivery_id"]', GITHUB_ID);
    await page.click('.picker[open] button.primary');
    await page.waitForURL(/provider_delivery_id=7/);
    const shown = await page.evaluate(`[...document.querySelectorAll('[data-kind="delivery"]')].map((row) => row.dataset.id)`);
    assert.equal(shown, [wanted]);
    await page.click(`a[aria-label="Remove Provider's delivery id: ${GITHUB_ID}"]`);
    await page.waitForURL((url) => !url.searchParams.get('provider_delivery_id'));
    assert.is(await page.locator('[data-kind="delivery"]').count(), 3);
  });
  await onList(async (page) => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type(GITHUB_ID);
    await page.waitForSelector('dialog[open] [role="option"]:has-text("push")');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${path}`);
  });
});

browserTest('the labels of all comboboxes lead to their inputs, also after the live page was drawn again', async () => {
  await onList(async (page) => {
    const labelled = () =>
      page.evaluate(`[...document.querySelectorAll('combo-box')].map((one) =>
        [...one.querySelector('[role="combobox"]').labels].map((label) => label.textContent).join())`);
    const labels = await labelled();
    assert.equal(labels, ['Event', 'Integration', 'Agent', 'Reason']);
    await page.evaluate(`document.querySelector('main h1').dataset.old = ''`);
    const redrawn = page.waitForSelector('main h1:not([data-old])');
    await deliver(given!.p, given!.integration, 'issues', { n: 3 });
    await redrawn;
    assert.equal(await labelled(), labels);
    assert.equal(await violationsOn(page, ALL_RULES), []);
  });
});

afterLastTest(async () => {
  await given?.browser.close();
  given?.server.close();
  await given?.p.close();
});

test.run();
