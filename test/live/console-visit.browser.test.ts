import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSockets, post } from '../faults/load.ts';
import { createDataset } from '../faults/tenants.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { launchChromium, openPage } from '../fixtures/chromium.ts';
import { timeout } from '../fixtures/live-console.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const onPlatform = runningPlatform();
const sockets = createSockets();

browserTest('a visitor signs in to the console, and a delivery that arrives meanwhile is shown', () =>
  onPlatform(async (platform) => {
    const { hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 });
    const hook = hooks[0]!;
    const { id, key } = hook.agent.tenant;
    const browser = await launchChromium(Number(new URL(platform.url).port));
    try {
      const { page, faults } = await openPage(browser, '', { baseURL: platform.url });
      await page.goto('/console/sign-in');
      await page.fill('#key', key);
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/console/t/${id}`, timeout());
      await page.goto(`/console/t/${id}/deliveries`);
      await page.waitForSelector('#live[data-state="live"]', timeout());
      const deliveryId = randomUUID();
      const { id: delivery } = await post(platform.url, sockets, { hook, deliveryId, body: JSON.stringify({ deliveryId }) });
      await page.waitForSelector(`#main [data-id="${delivery}"]`, timeout());
      assert.equal(faults.found, []);
    } finally {
      await browser.close();
    }
  }),
);

test.after(() => sockets.destroy());

test.run();
