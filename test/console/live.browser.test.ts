// limit: 180
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { openPage } from '../fixtures/chromium.ts';
import { createAgent, deliver } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { startLiveConsole, timeout } from '../fixtures/live-console.ts';
import { loadFactor, repeatIfBusy } from '../fixtures/load-factor.ts';
import { withoutDatabase } from '../fixtures/provider-substitutes.ts';

const MAX_LATENESS_MS = 1_000;
/** A rebuild that has made progress each time that it is read. */
const growing = {
  events: 0,
  rebuilds: async () => {
    growing.events += 10;
    const none = { events_per_second: 10, eta_seconds: 1, comparison: null, requested_by: null, ended_at: null, decided_by: null };
    const at = { version: 1, state: 'running' as const, total: 1_000, requested_at: new Date().toISOString(), reason: null };
    return [{ id: '1', projection: 'agents', events: growing.events, ...at, ...none }];
  },
};

const given = await startLiveConsole({ createProjectionAdmin: () => ({ ...withoutDatabase, rebuilds: growing.rebuilds }) });

const rowOf = (id: string | undefined) => `#main [data-id="${id}"]`;

browserTest('a new delivery appears on the list without a reload, and an open menu stays open', async () => {
  const { p, integration } = given!;
  const { page, faults } = await given!.openLive('/deliveries');
  await page.click('.switcher summary');
  const sentAt = Date.now();
  const { id } = await deliver(p, integration, 'issues', { live: true });
  await page.waitForSelector(rowOf(id), timeout());
  const lateness = Date.now() - sentAt;
  console.log(`a new delivery is shown after ${lateness} ms`);
  assert.ok(lateness <= MAX_LATENESS_MS * loadFactor(), `${lateness} ms`);
  assert.ok(await page.evaluate(`document.querySelector('.switcher').open`));
  assert.ok((await page.isHidden('#live-ended')) && (await page.isHidden('#live-new')));
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('a detail page keeps its open details, its scroll position and the focus while it is redrawn', async () => {
  const { p, integration } = given!;
  const { id } = await deliver(p, integration, 'push', { nested: { deep: { list: Array.from({ length: 80 }, (_, n) => n) } } });
  await p.waitForProjections();
  const { page, faults } = await given!.openLive(`/deliveries/${id}`);
  await page.evaluate(`for (const one of document.querySelectorAll('#main details')) one.open = true; scrollTo(0, 300)`);
  const before = (await page.evaluate(`[document.querySelectorAll('#main details[open]').length, scrollY]`)) as number[];
  assert.ok(before[0]! > 0 && before[1]! > 0, `the page has details and can be scrolled: ${before}`);
  const redrawn = page.waitForResponse((response) => response.url().endsWith(`/deliveries/${id}`), timeout());
  await deliver(p, integration, 'push', { another: true });
  await redrawn;
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(`[document.querySelectorAll('#main details[open]').length, scrollY]`), before);
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('a list that is scrolled down does not show new rows at once: a button appears, which adds them at the top', async () => {
  const { p, integration } = given!;
  const { page } = await given!.openLive('/deliveries');
  await page.evaluate(`scrollTo(0, 500)`);
  const { id } = await deliver(p, integration, 'push', { collected: true });
  await page.waitForSelector('#live-new:not([hidden])', timeout());
  assert.is(await page.textContent('#live-new'), '1 new');
  assert.is(await page.$(rowOf(id)), null);
  await page.click('#live-new');
  await page.waitForSelector(rowOf(id), timeout());
  assert.is(await page.evaluate('scrollY'), 0);
  assert.ok(await page.isHidden('#live-new'));
  await page.context().close();
});

browserTest('new messages of a session appear below what is read, which does not move', async () => {
  const { p } = given!;
  const { id, runner } = await seedSession(p, await createAgent(p, 'Talker'));
  const say = (text: string) =>
    p.send('POST', `${p.tenant}/sessions/${id}/messages`, { key: runner, body: { role: 'assistant', content: text } });
  for (let index = 0; index < 8; index++) await say(`Message ${index}\n${'A line\n'.repeat(10)}`);
  await p.waitForProjections();
  const { page, faults } = await given!.openLive(`/sessions/${id}`);
  for (const top of [0, 600]) {
    await page.evaluate(`scrollTo(0, ${top})`);
    const place = () => page.evaluate(`[scrollY, document.querySelectorAll('#main .message')[6].getBoundingClientRect().top]`);
    const before = await place();
    await say(`Said at ${top}`);
    await page.waitForSelector(`.message:last-child:has-text("Said at ${top}")`, timeout());
    assert.equal(await place(), before);
    assert.is(await page.textContent('#live-new'), `${top === 0 ? 1 : 2} new below`);
  }
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('the key `.` pauses a page: it does not change until the key is pressed again', async () => {
  const { p, integration } = given!;
  const { page } = await given!.openLive('/deliveries');
  await page.keyboard.press('.');
  await page.waitForSelector('#live[data-state="paused"]', timeout());
  const { id } = await deliver(p, integration, 'push', { paused: true });
  await p.waitForProjections();
  await page.waitForTimeout(1_500);
  assert.is(await page.$(rowOf(id)), null);
  await page.keyboard.press('.');
  await page.waitForSelector(rowOf(id), timeout());
  await page.context().close();
});

browserTest('if its session has ended elsewhere, a page says so and links to the sign-in, which leads back to the page', async () => {
  const { p } = given!;
  const cookie = await p.signIn();
  const { page } = await given!.openLive('/agents', cookie);
  const left = await p.send('POST', '/auth/logout', {
    key: '',
    headers: { cookie, origin: 'http://annals.test', 'sec-fetch-site': 'same-origin' },
  });
  assert.is(left.status, 204);
  await page.waitForSelector('#live-ended:not([hidden])', timeout());
  await page.click('#live-ended a');
  await page.waitForURL(/\/console\/sign-in/, timeout());
  assert.match(page.url(), /return_to=/);
  await page.context().close();
});

browserTest('a page that lacks the change which it should show says so, and shows the change as soon as it can', async () => {
  const { p, browser } = given!;
  const open = Promise.withResolvers<void>();
  p.projectionDelay.until = open.promise;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 700 } });
  try {
    const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Late', slug: 'late' } });
    await page.goto(`${p.base}/agents?after=${created.headers.get('consistency-token')}`);
    assert.match((await page.textContent('.stale')) ?? '', /^This view is \d s behind\. It does not show the latest change yet/);
    p.projectionDelay.until = undefined;
    open.resolve();
    await page.waitForSelector('.stale', { state: 'detached', ...timeout() });
    assert.ok(await page.isVisible(rowOf((created.body as { id: string }).id)));
    assert.equal(faults.found, []);
  } finally {
    p.projectionDelay.until = undefined;
    open.resolve();
    await page.context().close();
  }
});

/** Opens a page, and returns the times between its first `count` refreshes in milliseconds. */
const pausesOf = async (path: string, count: number): Promise<readonly number[]> => {
  const { page } = await given!.openLive(path);
  const times: number[] = [];
  while (times.length <= count) {
    await page.waitForRequest((request) => request.headers()['x-console-refresh'] !== undefined, timeout());
    times.push(performance.now());
  }
  await page.context().close();
  return times.slice(1).map((time, index) => time - times[index]!);
};

browserTest(
  'the page of the health of the platform is fetched every two seconds; a page that shows a progress, about every half second',
  () =>
    repeatIfBusy(async () => {
      const pauses = await pausesOf('/console/platform', 3);
      assert.ok(Math.min(...pauses) >= 1_400 && Math.min(...pauses) <= 2_600 * loadFactor(), `${pauses}`);
      const before = growing.events;
      const short = await pausesOf('/console/platform/projections/agents', 5);
      assert.ok(Math.min(...short) >= 450 && Math.min(...short) <= 1_000 * loadFactor(), `${short}`);
      assert.ok(growing.events >= before + 50);
    }),
);

browserTest('text that is being typed into a filter stays while the page is redrawn', async () => {
  const { p, integration } = given!;
  const { page } = await given!.openLive('/agents');
  const field = await page.$('#main form input:not([type="hidden"])');
  assert.ok(field, 'the list has a filter');
  await field.fill('review');
  const redrawn = page.waitForResponse((response) => response.url().endsWith('/agents'), timeout());
  await createAgent(p, `Another ${integration.slice(0, 4)}`);
  await redrawn;
  await page.waitForTimeout(300);
  assert.is(await field.inputValue(), 'review');
  await page.context().close();
});

afterLastTest(() => given?.close());

test.run();
