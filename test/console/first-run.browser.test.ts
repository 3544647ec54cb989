// limit: 240
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../infra/supervision/ports.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { eventually, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';
import { launchChromium, openPage } from '../fixtures/chromium.ts';
import { follow, tabTo } from '../fixtures/keyboard.ts';
import { loadFactor } from '../fixtures/load-factor.ts';

const MAX_MS = 60_000;
const KEY = /ann_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/;

const timeout = () => ({ timeout: MAX_MS * loadFactor() });
const stepDone = (name: string) => `[data-step="${name}"][data-done="true"]`;

/** Prints a sign-in link with the command `annals login`, as a person at the machine of the platform does. */
const printLink = async (env: NodeJS.ProcessEnv): Promise<string> => {
  const login = startProgram(process.execPath, ['infra/main.ts', 'login'], { env });
  const [link] = await login.waitForOutput(/http:\S+\/console\/in#\S+/);
  return link!;
};

/** Opens the link in the browser, and follows it to the first page of the tenant: one click, and one on the link. */
const signIn = async (page: Page, link: string): Promise<void> => {
  await page.goto(link);
  assert.match(page.url(), /\/console\/in$/, 'the address does not contain the code any more');
  assert.not.ok((await page.evaluate('JSON.stringify(history.state) + location.href')) === link);
  assert.ok(await page.isHidden('#code-field'));
  await follow(page, 'main form button');
  assert.match(page.url(), /\/console\/t\/\w+$/, `${page.url()} ${(await page.textContent('main'))?.slice(0, 500)}`);
};

/** Follows the link to a form, types into its fields, and submits it with the Enter key. */
const fill = async (page: Page, operation: string, typed: Readonly<Record<string, string>>): Promise<void> => {
  await follow(page, `#main a[href*="/console/run/${operation}"]`);
  for (const [pointer, text] of Object.entries(typed)) {
    await tabTo(page, `[name="${pointer}"]`);
    await page.keyboard.type(text);
  }
  await follow(page, `form[data-form="${operation}"] .form-actions button`);
};

/** Checks that a page shows a secret, but that the secret is not in the page's URL, title or history state. */
const checkSecret = async (page: Page): Promise<string> => {
  const shown = KEY.exec((await page.textContent('main')) ?? '')?.[0] ?? '';
  assert.ok(shown, 'the page shows the key');
  assert.not.match(String(await page.evaluate('location.href + document.title + JSON.stringify(history.state)')), KEY);
  return shown;
};

browserTest(
  'by keyboard alone, the first steps lead from a sign-in link to a delivery that a real runner acknowledges, and tick without a reload',
  () =>
    withTempDirectory(async (data) => {
      const port = await freePort();
      const baseURL = `http://127.0.0.1:${port}`;
      const env = { ...unconfiguredEnvironment(), ANNALS_DATA: data, PORT: String(port), LOG_LEVEL: 'warn' };
      const platform = startProgram(process.execPath, ['infra/main.ts', 'start'], { env });
      const [first] = await platform.waitForOutput(KEY);
      await platform.waitForOutput(new RegExp(`^ready ${baseURL}$`, 'm'));
      const link = await printLink(env);
      await eventually('the first tenant is shown', async () => {
        const answer = await fetch(`${baseURL}/me`, { headers: { authorization: `Bearer ${first}` } });
        return answer.ok && ((await answer.json()) as { tenants: unknown[] }).tenants.length > 0;
      });
      const browser = await launchChromium(port);
      try {
        const { page, faults } = await openPage(browser, '', { baseURL, viewport: { width: 1280, height: 800 } });
        page.setDefaultTimeout(MAX_MS * loadFactor());
        const startedAt = Date.now();
        await signIn(page, link);

        const other = await openPage(browser, '', { baseURL });
        await other.page.goto(link);
        await other.page.click('main form button');
        assert.match(
          (await other.page.textContent('[role="alert"]')) ?? '',
          /used at .+ from 127\.0\.0\.1: make another with annals login/,
        );
        await other.page.context().close();

        await follow(page, '#main a[href$="/start"]');
        await fill(page, 'createAgent', { '/name': 'Reviewer', '/slug': 'reviewer' });
        await fill(page, 'connectWebhookIntegration', {});
        await follow(page, '#main a.primary');
        await page.waitForSelector(stepDone('integration'));
        await fill(page, 'createRunnerKey', {});
        const runnerKey = await checkSecret(page);
        const start = await page.getAttribute('#main a.primary', 'href');
        await follow(page, '#main a.primary');
        // The browser has not stored the page with the key, and does not send the form again without asking.
        await page.goBack().catch(() => null);
        await page.waitForTimeout(1_000);
        assert.not.match(await page.content().catch(() => ''), KEY, 'the key is not shown again');
        await page.goto(new URL(start!, baseURL).href);

        await page.evaluate('globalThis.isSamePage = true');
        const runnerEnv = { ...unconfiguredEnvironment(), ANNALS_URL: baseURL, ANNALS_KEY: runnerKey, ANNALS_DATA: data };
        const runner = startProgram(process.execPath, ['infra/main.ts', 'runner', '--agent', 'reviewer', '--exec', 'cat; echo'], {
          env: runnerEnv,
        });
        await page.waitForSelector(stepDone('runner'), timeout());
        assert.ok(await page.evaluate('globalThis.isSamePage'), 'the step ticks without a reload');
        await follow(page, '[data-form="sendTestDelivery"] button');
        await page.evaluate('globalThis.isSamePage = true');
        await page.waitForSelector(stepDone('watch'), timeout());
        const took = Date.now() - startedAt;
        console.log(`from the sign-in to the acknowledged delivery: ${took} ms`);
        assert.ok(took < MAX_MS * loadFactor(), `${took} ms`);
        assert.equal(
          faults.found.filter((fault) => !fault.includes('ERR_CACHE_MISS')),
          [],
        );
        await runner.stop();
      } finally {
        await browser.close();
        await platform.stop();
      }
    }),
);

test.run();
