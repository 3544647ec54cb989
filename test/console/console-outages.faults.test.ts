// limit: 420
import type { Browser, Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ProcessName } from '../faults/platform-processes.ts';
import { ADMIN_KEY, type RunningPlatform } from '../faults/running-platform.ts';
import { killAgainAndAgain } from '../faults/store-outage.ts';
import { createDataset } from '../faults/tenants.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { bareEnvironment, eventually, mainFile, startProgram } from '../fixtures/child-process.ts';
import { launchChromium, openPage } from '../fixtures/chromium.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';
import { signInCookie } from '../fixtures/sign-in-cookie.ts';

const MAX_NAMED_MS = 5_000;
const MAX_RECOVERY_MS = 5_000;
const MAX_PRESENCE_MS = 5_000;
const AGENT = '#main [data-kind="agent"]';
const CONNECTED = '#main [data-state="connected"]';

/** `part` is the name of the part on the page of the health of the platform. */
type Outage = { readonly process: ProcessName; readonly named: string; readonly part: string };

/** The parts that are stopped one by one, and the name by which a page must name each of them in time. */
const OUTAGES: readonly Outage[] = [
  { process: 'postgres', named: 'read models', part: 'Postgres' },
  { process: 'nats', named: 'message broker', part: 'NATS' },
  { process: 'store', named: 'event store', part: 'event store' },
  { process: 'work', named: 'worker', part: 'worker' },
];

const timeout = (ms: number) => ({ timeout: ms * loadFactor() });

const degradedParts = async ({ url }: RunningPlatform): Promise<readonly string[]> => {
  const answer = await fetch(`${url}/readyz`).catch(() => null);
  return answer === null ? ['serve'] : ((await answer.json()) as { degraded: string[] }).degraded;
};

/** Waits until a page names the part that does not work, in the strip or in the place of its content. */
const waitUntilNamed = (page: Page, { named }: Outage) => page.waitForSelector(`#main [data-degraded*="${named}"]`, timeout(MAX_NAMED_MS));

/** Selects the state of a part on the page of the health of the platform. */
const stateOf = ({ part }: Outage, isOk: boolean): string =>
  `#main [data-kind="part"][data-id="${part}"] [data-state]${isOk ? '' : ':not('}[data-state="ok"]${isOk ? '' : ')'}`;

/** Waits until the page of the health of the platform shows that a part does not work, and what to do. */
const waitUntilReported = async (page: Page, outage: Outage): Promise<void> => {
  await page.waitForSelector(stateOf(outage, false), timeout(MAX_NAMED_MS));
  await page.waitForSelector(`#main [data-kind="part"][data-id="${outage.part}"] [data-advice]`, timeout(MAX_NAMED_MS));
};

/** Waits until the page of the health of the platform shows that a part works. */
const waitUntilOk = async (page: Page, outage: Outage): Promise<void> => {
  // The parts that are in order can be folded.
  await page.waitForSelector(stateOf(outage, true), { state: 'attached', ...timeout(MAX_RECOVERY_MS) });
  await page.waitForSelector('#main :is([data-degraded], [data-problem])', { state: 'detached', ...timeout(MAX_RECOVERY_MS) });
};

/** Waits until a page shows its content and no problem. */
const waitUntilBack = async (page: Page): Promise<void> => {
  await page.waitForSelector(AGENT, timeout(MAX_RECOVERY_MS));
  await page.waitForSelector('#main :is([data-degraded], [data-problem])', { state: 'detached', ...timeout(MAX_RECOVERY_MS) });
};

const onPlatform = lentPlatform();

/** Signs a browser in as the owner of a new tenant with an agent. `base` is the path of the tenant's pages. */
const stage = async (platform: RunningPlatform) => {
  const { tenants, agents } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 0 });
  const cookie = await signInCookie(platform.url, tenants[0]!.key);
  return { agent: agents[0]!, cookie, base: `/console/t/${tenants[0]!.id}` };
};

const withBrowser = async (platform: RunningPlatform, use: (browser: Browser) => Promise<void>): Promise<void> => {
  const browser = await launchChromium(Number(new URL(platform.url).port));
  await use(browser).finally(() => browser.close());
};

browserTest('when a runner is killed, the pages that show it say within seconds that it is not connected', () =>
  onPlatform(async (platform) => {
    const { agent, cookie, base } = await stage(platform);
    const env = { ...bareEnvironment(), ANNALS_URL: platform.url, ANNALS_KEY: agent.runnerKey };
    const runner = startProgram(process.execPath, [mainFile, 'runner', '--agent', agent.slug, '--exec', 'cat'], { cwd: platform.dir, env });
    platform.stopOnClose(runner);
    await runner.waitForOutput(/waiting for deliveries/);
    await withBrowser(platform, async (browser) => {
      const open = async (path: string): Promise<Page> => {
        const { page } = await openPage(browser, cookie, { baseURL: platform.url });
        await page.goto(`${base}${path}`);
        await page.waitForSelector(CONNECTED, timeout(15_000));
        return page;
      };
      const paths = ['/agents', `/agents/${agent.id}`, `/agents/${agent.id}/runner`, '/start'];
      const pages = await Promise.all(paths.map(open));
      await runner.stop('SIGKILL');
      const killedAt = Date.now();
      await Promise.all(pages.map((page) => page.waitForSelector(CONNECTED, { state: 'detached', ...timeout(MAX_PRESENCE_MS) })));
      console.log(`the pages do not show the runner as connected after ${Date.now() - killedAt} ms`);
    });
  }),
);

browserTest(
  'while Postgres, NATS, the event store or the worker is down, pages keep their frame and name the part; they come back by themselves',
  () =>
    onPlatform(async (platform) => {
      const { cookie, base } = await stage(platform);
      await withBrowser(platform, async (browser) => {
        const { page: open } = await openPage(browser, cookie, { baseURL: platform.url });
        await eventually('the page shows the agent', async () => {
          await open.goto(`${base}/agents`);
          return (await open.$(AGENT)) !== null;
        });
        await open.waitForSelector('#live[data-state="live"]', timeout(15_000));
        await open.evaluate('document.mark = true');
        const { page: late } = await openPage(browser, cookie, { baseURL: platform.url });
        const { page: health } = await openPage(browser, await signInCookie(platform.url, ADMIN_KEY), { baseURL: platform.url });
        await health.goto('/console/platform');
        for (const outage of OUTAGES) {
          const startedAt = Date.now();
          const restart = killAgainAndAgain(platform, outage.process);
          try {
            const since = () => `after ${Date.now() - startedAt} ms`;
            await Promise.all([
              waitUntilNamed(open, outage).then(() => console.log(`${outage.named}: named ${since()}`)),
              waitUntilReported(health, outage).then(() => console.log(`${outage.part}: reported ${since()}`)),
            ]);
            await late.goto(`${base}/agents`, timeout(30_000));
            await waitUntilNamed(late, outage);
            for (const page of [open, late]) assert.ok(await page.isVisible(`#nav a[href="${base}/deliveries"]`), outage.named);
            assert.ok(await open.isVisible(`#nav a[href="${base}/audit"]`), `${outage.named}: an entry that not every member has`);
          } finally {
            restart();
          }
          await eventually(`${outage.named} works again`, async () => (await degradedParts(platform)).length === 0);
          const worksAt = Date.now();
          await Promise.all([...[open, late].map(waitUntilBack), waitUntilOk(health, outage)]);
          console.log(`${outage.named}: the pages are back after ${Date.now() - worksAt} ms`);
        }
        assert.ok(await open.evaluate('document.mark'), 'the page that was open was not loaded again');
        await late.waitForSelector('#live[data-state="live"]', timeout(15_000));
      });
    }),
);

test.run();
