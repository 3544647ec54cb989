// limit: 180
import { Hono } from 'hono';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { seedConsole, startConsole } from '../fixtures/console-platform.ts';
import { loadFactor, repeatIfBusy } from '../fixtures/load-factor.ts';

/** The maximum number of requests for a page in a browser that has never opened the console, and in one that has. */
const MAX_COLD = 12;
const MAX_WARM = 1;
const MAX_SHIFT = 0.02;
const MAX_TASK_MS = 50;

const stage = async () => {
  const p = await startConsole();
  const seeded = await seedConsole(p);
  await p.waitForProjections();
  const requested: string[] = [];
  /** Serves the platform, and notes each request that the browser does not answer from its cache. */
  const counted = new Hono();
  counted.mount('/', (request, env) => {
    requested.push(new URL(request.url).pathname);
    return p.app.fetch(request, env);
  });
  const server = await listen(counted, { host: '127.0.0.1', port: 0 });
  const browser = await launchChromium(server.port);
  return { p, seeded, requested, server, browser };
};
const given = chromium === undefined ? null : await stage();

/** Observes how far the page moves while it loads, and how long the page is blocked. */
const OBSERVE = `globalThis.shift = 0; globalThis.longest = 0;
new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) globalThis.shift += one.value; })
  .observe({ type: 'layout-shift', buffered: true });
new PerformanceObserver((list) => { for (const one of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, one.duration); })
  .observe({ type: 'longtask', buffered: true });`;

const load = async (page: Page, path: string): Promise<string[]> => {
  const { requested } = given!;
  requested.length = 0;
  await page.goto(path, { waitUntil: 'load' });
  await page.waitForTimeout(500);
  // The stream of changes is opened after the page is shown. It is not a part of loading.
  return requested.filter((one) => !one.endsWith('/changes'));
};

browserTest('a page needs few requests in a browser that has never opened the console, and afterwards only one', async () => {
  const { browser, p } = given!;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  const cold = await load(page, `${p.base}/deliveries`);
  const warm = await load(page, `${p.base}/agents`);
  console.log(`${cold.length} requests cold, ${warm.length} warm`);
  assert.ok(cold.length <= MAX_COLD, `${cold.length} requests: ${cold.join(' ')}`);
  assert.ok(warm.length <= MAX_WARM, `${warm.length} requests: ${warm.join(' ')}`);
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('while a page loads, nothing moves, and the browser is never blocked for long', () =>
  repeatIfBusy(async () => {
    const { browser, p, seeded } = given!;
    const { page } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
    await page.context().addInitScript(OBSERVE);
    const wrong: string[] = [];
    for (const path of ['', '/deliveries', `/deliveries/${seeded.accepted}`, '/agents', '/audit', '/costs']) {
      await load(page, `${p.base}${path}`);
      const [shift, longest] = (await page.evaluate('[globalThis.shift, globalThis.longest]')) as [number, number];
      if (shift > MAX_SHIFT) wrong.push(`${path}: a layout shift of ${shift}`);
      if (longest > MAX_TASK_MS * loadFactor()) wrong.push(`${path}: a task of ${longest} ms`);
    }
    await page.context().close();
    assert.equal(wrong, []);
  }),
);

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
