// limit: 240
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { follow, tabTo } from '../fixtures/keyboard.ts';
import { timeout } from '../fixtures/live-console.ts';

const AGENTS = 40;
const BLOCKED = 200;

const stage = async () => {
  const p = await startConsole();
  const agents: string[] = [];
  for (let number = 0; number < AGENTS; number++) agents.push(await createAgent(p, `Agent ${String(number).padStart(2, '0')}`));
  const hook = await createIntegration(p, agents[0]!);
  const rules = [{ name: 'no-pushes', kind: 'event_filter', options: { deny: ['push'] }, action: 'block' }];
  assert.is((await p.send('PUT', `${p.tenant}/guardrails`, { body: rules })).status, 200);
  for (let number = 0; number < BLOCKED; number++) await deliver(p, hook, 'push', { number });
  assert.is((await p.send('DELETE', `${p.tenant}/agents/${agents[5]}`)).status, 204);
  assert.is((await p.send('DELETE', `${p.tenant}/agents/${agents[6]}`)).status, 204);
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, agents, hook, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();
type Stage = NonNullable<typeof given>;

/** How a person works. Each call counts as one click; `isPage` says that it leads to another page. */
type Click = (selector: string, isPage?: boolean) => Promise<void>;

const HANDS = {
  pointer: async (page: Page, selector: string, isPage: boolean): Promise<void> => {
    await Promise.all([isPage && page.waitForNavigation({ waitUntil: 'load' }), page.click(selector)]);
  },
  keyboard: async (page: Page, selector: string, isPage: boolean): Promise<void> => {
    if (isPage) return follow(page, selector);
    await tabTo(page, selector);
    await page.keyboard.press('Enter');
  },
};

type Task = { readonly clicks: number; readonly fields: number; readonly run: (task: Steps) => Promise<void> };
type Steps = Stage & {
  readonly page: Page;
  readonly click: Click;
  readonly fill: (selector: string, value: string) => Promise<void>;
  readonly choose: (selector: string, name: string) => Promise<void>;
};

const nav = (path: string): string => `.sidebar nav a[href$="${path}"]`;

const TASKS: Readonly<Record<string, Task>> = {
  'rotate a secret': {
    clicks: 4,
    fields: 1,
    run: async ({ p, page, click, fill }) => {
      const before = p.eventsOf('IntegrationSecretRotated').length;
      await click(nav('/integrations'));
      await click('#main [data-kind="integration"] a.row-link');
      await click('#main a[href*="rotateWebhookSecret"]');
      await fill('[name="/overlap_seconds"]', '2');
      await click('[data-act]');
      await page.waitForSelector('[data-secret]');
      assert.is(p.eventsOf('IntegrationSecretRotated').length, before + 1);
    },
  },
  'restore a deleted agent': {
    clicks: 4,
    fields: 0,
    run: async ({ p, page, click }) => {
      const before = p.eventsOf('AgentRestored').length;
      await click(nav('/agents'));
      await click('#main a[href*="deleted=true"]');
      await click('#main [data-kind="agent"] a.row-link');
      await click('#main form[action*="restoreAgent"] button');
      assert.is(p.eventsOf('AgentRestored').length, before + 1);
      assert.match(await page.innerText('h1'), /Agent 0[56]/);
    },
  },
  'release 200 blocked deliveries to another agent': {
    clicks: 4,
    fields: 2,
    run: async ({ p, agents, page, click, fill, choose }) => {
      await click(nav('/deliveries'));
      await click('#main a:has([data-count="blocked"])');
      await click('#main a.primary[href*="replayTenantDeliveries"]');
      await choose('target_agent_id', 'Agent 07');
      await fill('[name="/release_reason"]', 'The rule was too strict');
      await click('[data-act]');
      const [requested] = p.eventsOf('DeliveriesReplayRequested').slice(-1) as unknown as { data: Record<string, unknown> }[];
      assert.is(requested!.data.agent_id, agents[7]);
      assert.match(await page.innerText('main'), new RegExp(String(BLOCKED)));
    },
  },
};

for (const [hand, act] of Object.entries(HANDS))
  for (const [name, { clicks, fields, run }] of Object.entries(TASKS))
    browserTest(`with the ${hand}, from the overview: ${name}, in ${clicks} clicks and ${fields} fields`, async () => {
      const { browser, p } = given!;
      const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1440, height: 900 } });
      page.setDefaultTimeout(timeout().timeout);
      let [clicked, filled] = [0, 0];
      await page.goto(p.base);
      await run({
        ...given!,
        page,
        click: async (selector, isPage = true) => {
          clicked++;
          await act(page, selector, isPage);
        },
        fill: async (selector, value) => {
          filled++;
          await page.fill(selector, value);
        },
        choose: async (field, text) => {
          filled++;
          await page.fill(`#f-${field}`, text);
          await page.waitForSelector('[role="option"]');
          await page.keyboard.press('Enter');
        },
      });
      assert.ok(clicked <= clicks && filled <= fields, `${clicked} clicks, ${filled} fields`);
      // The page of a deleted agent has the status 404, which the browser logs.
      assert.equal(
        faults.found.filter((fault) => !fault.includes('404')),
        [],
      );
      await page.context().close();
    });

afterLastTest(async () => {
  await given?.browser.close();
  await given?.server.close();
  await given?.p.close();
});

test.run();
