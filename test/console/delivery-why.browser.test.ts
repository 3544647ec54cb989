// limit: 240
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { expectReply, type RunningPlatform } from '../faults/running-platform.ts';
import { createDataset, type Hook } from '../faults/tenants.ts';
import { violationsOn } from '../fixtures/accessibility.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { launchChromium, openPage } from '../fixtures/chromium.ts';
import { follow, tabTo } from '../fixtures/keyboard.ts';
import { timeout } from '../fixtures/live-console.ts';
import { withProcessPlatform } from '../fixtures/process-platform.ts';

type Stage = { readonly platform: RunningPlatform; readonly hook: Hook; readonly flag: string };

/** Starts a runner whose command fails until the file `flag` exists. */
const startRunner = ({ platform, hook, flag }: Stage): void => {
  const exec = `cat > /dev/null; [ -e '${flag}' ] || { echo 'GET /disputes: 502' >&2; exit 3; }`;
  const env = { ...unconfiguredEnvironment(), ANNALS_URL: platform.url, ANNALS_KEY: hook.agent.runnerKey, ANNALS_DATA: platform.data };
  platform.stopOnClose(
    startProgram(process.execPath, ['infra/main.ts', 'runner', '--agent', hook.agent.slug, '--exec', exec], {
      env: env as NodeJS.ProcessEnv,
    }),
  );
};

const signIn = async (page: Page, { platform, hook }: Stage): Promise<void> => {
  await page.goto('/console/sign-in');
  await page.fill('[name="key"]', hook.agent.tenant.key);
  await Promise.all([page.waitForURL('**/console/t/*'), page.keyboard.press('Enter')]);
  assert.ok(page.url().startsWith(platform.url));
};

/** How a person works: with the pointer or with the keyboard. Each act counts as one click. */
type Hand = (page: Page, selector: string, isPage?: boolean) => Promise<void>;

const pointer: Hand = async (page, selector, isPage = true) => {
  const loaded = isPage ? page.waitForNavigation({ waitUntil: 'load' }) : undefined;
  await page.click(selector);
  await loaded;
};

const keyboard: Hand = async (page, selector, isPage = true) => {
  if (isPage) return follow(page, selector);
  await tabTo(page, selector);
  await page.keyboard.press('Enter');
};

const MAX_CLICKS = 4;

/** Finds out on the pages why a delivery failed, repairs the cause, and sends it again. */
const sayWhyAndSendAgain = async (stage: Stage, page: Page, hand: Hand): Promise<void> => {
  let clicks = 0;
  const act: Hand = async (...given) => {
    clicks++;
    await hand(...given);
  };
  await act(page, `#main [data-kind="delivery"] a.row-link`);
  await page.waitForSelector('[data-why] strong:has-text("the command ended with 3")', timeout());
  assert.match(await page.innerText('[data-why]'), /code 3/);
  assert.match((await page.textContent('[data-why] pre'))!, /GET \/disputes: 502/);
  assert.match(await page.innerText('.attempts'), /First message[\s\S]+failed \(3\): the command ended with 3/);
  assert.equal(await violationsOn(page, {}), []);
  writeFileSync(stage.flag, '');
  await act(page, '[popovertarget^="confirm-redeliverDelivery"]', false);
  await act(page, 'dialog:popover-open form button');
  await page.waitForSelector('#main [data-state="acknowledged"]', timeout());
  assert.match(await page.innerText('.attempts'), /Sent again by \S[\s\S]+acknowledged[\s\S]+First message[\s\S]+failed \(3\)/);
  assert.is(await page.$('[data-why]'), null, 'nothing needs a reason any more');
  assert.ok(clicks <= MAX_CLICKS, `${clicks} clicks`);
};

const started = Promise.withResolvers<RunningPlatform>();
const ended = Promise.withResolvers<void>();
let running: Promise<void> | undefined;

const stage = async (name: string): Promise<Stage> => {
  running ??= withProcessPlatform(async (platform) => {
    started.resolve(platform);
    await ended.promise;
  }).catch((error: Error) => started.reject(error));
  const platform = await started.promise;
  const { hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 });
  return { platform, hook: hooks[0]!, flag: join(platform.dir, name) };
};

for (const [name, hand] of Object.entries({ pointer, keyboard }))
  browserTest(`with the ${name}, it takes at most 4 clicks to see why a real runner failed and to send the delivery again`, async () => {
    const given = await stage(name);
    const { platform, hook } = given;
    startRunner(given);
    await expectReply(
      platform.call('POST', `/tenant/${hook.agent.tenant.id}/webhook-integrations/${hook.id}/test-delivery`, {}, hook.agent.tenant),
      202,
    );
    const browser = await launchChromium(Number(new URL(platform.url).port));
    try {
      const { page, faults } = await openPage(browser, '', { baseURL: platform.url, viewport: { width: 1440, height: 900 } });
      await signIn(page, given);
      await page.waitForSelector('#main [data-kind="delivery"]', timeout());
      await sayWhyAndSendAgain(given, page, hand);
      assert.equal(faults.found, []);
    } finally {
      await browser.close();
    }
  });

afterLastTest(async () => {
  ended.resolve();
  await running;
});

test.run();
