// limit: 180
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { ALL_RULES, violationsOn } from '../fixtures/accessibility.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, seedConsole, startConsole } from '../fixtures/console-platform.ts';

const stage = async () => {
  const p = await startConsole();
  const seeded = await seedConsole(p);
  const rules = ['github', 'stripe', 'linear', 'jira'].map((text) => ({
    ...{ name: `no-${text}`, kind: 'pattern', options: { pattern: text }, action: 'block' },
  }));
  await p.send('PUT', `${p.tenant}/guardrails`, { body: rules });
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, seeded, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

/** Returns the URL of each form that has a layout for its usual case. */
const formUrls = (): Readonly<Record<string, string>> => {
  const { p, seeded } = given!;
  const url = (operation: string, params: Record<string, string> = {}) =>
    `/console/run/${operation}?${new URLSearchParams({ tenant_id: p.tenant_id, ...params })}`;
  const agent_id = seeded.agent;
  return {
    budget: url('changeAgentBudget', { agent_id }),
    'cron job': url('createCronJob', { agent_id }),
    agent: url('createAgent'),
    session: url('startSession', { agent_id }),
    secret: url('rotateWebhookSecret', { id: seeded.integration }),
    provider: url('connectWebhookIntegration'),
    member: url('inviteMember'),
    replay: url('replayTenantDeliveries', { event: 'push' }),
    release: url('replayTenantDeliveries', { outcome: 'blocked' }),
    blackout: url('declareCronBlackout'),
    guardrails: url('replaceGuardrails'),
  };
};

const onForm = async (width: number, use: (page: Page, goTo: (name: string) => Promise<unknown>) => Promise<void>): Promise<void> => {
  const { p, browser } = given!;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: { width, height: 900 } });
  await use(page, (name) => page.goto(formUrls()[name]!));
  // The preview of an incomplete form is refused, which the browser logs.
  assert.equal(
    faults.found.filter((fault) => !fault.includes('422')),
    [],
  );
  await page.context().close();
};

const MAX_HEIGHT = 900;

browserTest('each form of the usual tasks is at most 900 pixels high at a width of 1440, and accessible', () =>
  onForm(1440, async (page, goTo) => {
    for (const name of Object.keys(formUrls())) {
      await goTo(name);
      const height = (await page.evaluate(`document.querySelector('form.form').getBoundingClientRect().height`)) as number;
      assert.ok(height > 0 && height <= MAX_HEIGHT, `${name}: ${height}`);
      assert.equal(await violationsOn(page, ALL_RULES), [], name);
    }
  }),
);

browserTest('on a phone, no form of the usual tasks has to be scrolled sideways, and the preview is above the button', () =>
  onForm(375, async (page, goTo) => {
    for (const name of Object.keys(formUrls())) {
      await goTo(name);
      assert.not.ok(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), name);
      const [panel, act] = [await page.$('[data-panel]'), await page.$('[data-act]')];
      const below = panel && (await act!.boundingBox())!.y < (await panel.boundingBox())!.y;
      assert.not.ok(below, name);
    }
  }),
);

browserTest('only the fields of the chosen option are shown and sent', () =>
  onForm(1440, async (page, goTo) => {
    const { p } = given!;
    const shown = () =>
      page.evaluate(`['cron_expr', 'interval_minutes', 'start_time', 'fire_at', 'target']
        .filter((name) => document.querySelector('[name="/' + name + '"]').checkVisibility())`);
    await goTo('cron job');
    assert.equal(await shown(), ['cron_expr']);
    await page.fill('[name="/name"]', 'Nightly');
    await page.fill('[name="/cron_expr"]', '0 9 * * MON');
    await page.check('[name="_one/when"][value="interval"]');
    assert.equal(await shown(), ['interval_minutes']);
    await page.fill('[name="/interval_minutes"]', '2');
    await page.selectOption('[name="_unit/interval_minutes"]', 'hours');
    await page.fill('[name="/body_bytes"]', 'Reconcile é');
    await page.click('[data-act]');
    await page.waitForURL('**/cron-jobs/*');
    const { data } = p.eventsOf('CronJobCreated').at(-1)! as { data: Record<string, unknown> };
    assert.equal([data.interval_minutes, data.cron_expr, data.target_kind, data.kind], [120, null, 'internal_agent', 'recurring']);
    assert.is(Buffer.from(String(data.body_bytes), 'base64').toString(), 'Reconcile é');
  }),
);

browserTest('the summary of a form is updated when its further settings change', () =>
  onForm(1440, async (page, goTo) => {
    await goTo('replay');
    const summary = page.locator('[data-summary]');
    assert.match(await summary.innerText(), /Accepted and given up/);
    await page.click('summary:has-text("More settings")');
    await page.selectOption('[name="/outcome"]', 'dead');
    await summary.locator('li', { hasText: /Outcome\s+Given up/ }).waitFor({ timeout: 20_000 });
    assert.match(await summary.innerText(), /push/);
  }),
);

browserTest('a time with milliseconds is shown as a whole in its field', () =>
  onForm(1440, async (page) => {
    await page.goto(`${formUrls().replay}&to=2026-11-21T10:00:00.123Z`);
    await page.click('summary:has-text("More settings")');
    const [own, needed] = (await page.evaluate(`(() => {
      const field = document.querySelector('[name="/to"]');
      const widthOf = () => field.getBoundingClientRect().width;
      const own = widthOf();
      field.style.cssText = 'max-width: none; width: max-content; flex: none';
      return [own, widthOf()];
    })()`)) as [number, number];
    assert.ok(own >= needed, `${own} of ${needed} pixels`);
  }),
);

browserTest('settings of a custom sender are shown for a custom sender only', () =>
  onForm(1440, async (page, goTo) => {
    await goTo('provider');
    const isShown = () => page.isVisible('[name="/options/header"]');
    await page.check('[name="/provider"][value="github"]');
    assert.not.ok(await isShown());
    await page.check('[name="/provider"][value="custom_hmac"]');
    assert.ok(await isShown());
  }),
);

browserTest('a provider is found by typing a part of its name, and chosen with the Enter key', () =>
  onForm(1440, async (page, goTo) => {
    await goTo('provider');
    for (const nothing of ['', ' ']) {
      await page.fill('[data-tile-search]', nothing);
      await page.press('[data-tile-search]', 'Enter');
      assert.is(await page.locator('[name="/provider"]:checked').count(), 0);
    }
    await page.fill('[data-tile-search]', 'hub');
    assert.equal(await page.locator('[data-pointer="/provider"] .tile:visible').allInnerTexts(), ['GitHub']);
    await page.press('[data-tile-search]', 'Enter');
    assert.ok(await page.isChecked('[name="/provider"][value="github"]'));
    await page.locator('[data-panel] .setup-steps').waitFor({ timeout: 20_000 });
    await page.fill('[data-tile-search]', 'nothing like this');
    assert.match(await page.innerText('[data-tile-status]'), /No tile matches/);
    assert.ok(await page.isVisible('[name="/provider"][value="github"]'), 'the chosen one stays');
  }),
);

browserTest('the agents of a blackout are chosen by name with the keyboard, and the impact follows', () =>
  onForm(1440, async (page, goTo) => {
    const { p } = given!;
    for (const name of ['Freeze alpha', 'Freeze beta']) await createAgent(p, name);
    await p.waitForProjections();
    const before = p.eventsOf('BlackoutDeclared').length;
    await goTo('blackout');
    await page.fill('[name="/name"]', 'Freeze');
    await page.check('[name="_one/agents"][value="some"]');
    await page.focus('combo-box input[role="combobox"]');
    for (const name of ['freeze al', 'freeze be']) {
      await page.keyboard.type(name);
      await page.keyboard.press('Enter');
    }
    assert.equal((await page.locator('combo-box .chips li span').allInnerTexts()).toSorted(), ['Freeze alpha', 'Freeze beta']);
    await page.fill('[name="/start_date"]', '2126-12-01');
    await page.fill('[name="/end_date"]', '2126-12-04');
    await page
      .locator('[data-panel]', { hasText: 'No job would fire from 1 December 2126 to 4 December 2126' })
      .waitFor({ timeout: 20_000 });
    await page.click('[data-act]');
    await page.waitForURL('**/schedules*');
    assert.is(p.eventsOf('BlackoutDeclared').length, before + 2);
  }),
);

browserTest('a rule is dragged to another place in the list, and the review says so', () =>
  onForm(1440, async (page, goTo) => {
    await goTo('guardrails');
    const rows = page.locator('.row-list > .form-row > details > summary');
    await rows.nth(0).dragTo(rows.nth(2), { targetPosition: { x: 20, y: 30 } });
    await page.waitForLoadState();
    assert.match(await rows.nth(2).innerText(), /^no-github/);
    await page.click('[data-act]');
    assert.match(await page.innerText('.review-list'), /New order no-stripe, no-linear, no-github, no-jira/);
  }),
);

browserTest('one form invites a member, gives them a role on an agent, and shows the link', () =>
  onForm(1440, async (page, goTo) => {
    const { p } = given!;
    const agent = await createAgent(p, 'Shared');
    await p.waitForProjections();
    await goTo('member');
    await page.fill('[name="/email"]', 'one.form@example.com');
    await page.click('summary:has-text("Agents of the member")');
    await page.check(`[name="_agents"][value="${agent}"]`);
    await page.selectOption('[name="_agent_role"]', 'MANAGER');
    await page.click('[data-act]');
    assert.match(await page.innerText('[data-secret] code'), /\/console\/invitation#inv_/);
    const assigned = p.eventsOf('AgentRoleAssigned').at(-1)! as { data: { role: string } };
    assert.is(assigned.data.role, 'MANAGER');
  }),
);

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
