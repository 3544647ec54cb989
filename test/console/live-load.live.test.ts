// limit: 360
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { deliver } from '../fixtures/console-platform.ts';
import { startLiveConsole, timeout } from '../fixtures/live-console.ts';
import { loadFactor, repeatIfBusy } from '../fixtures/load-factor.ts';

const SECONDS = 10;
const PER_SECOND = 200;
const MAX_ANSWER_MS = 100;
const MAX_ROWS = 200;
const given = await startLiveConsole();
type LiveConsole = NonNullable<typeof given>;
type OpenPage = Awaited<ReturnType<LiveConsole['openLive']>>;

/** Measures in the page how long each click takes until the browser has painted its effect. */
const MEASURE_CLICKS = `
  document.clickTimes = [];
  document.addEventListener('click', ({ timeStamp }) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => document.clickTimes.push(performance.now() - timeStamp);
    port2.postMessage(0);
  }));
`;

/** Sends deliveries for ten seconds, or until the signal is aborted. @returns the seconds that it took */
const sendDeliveries = async ({ p, integration }: LiveConsole, stop: AbortSignal): Promise<number> => {
  const startedAt = Date.now();
  for (let sent = 0; sent < SECONDS * PER_SECOND && !stop.aborted; ) {
    const due = Math.min(SECONDS * PER_SECOND, Math.ceil(((Date.now() - startedAt) / 1_000) * PER_SECOND));
    for (; sent < due; sent++) await deliver(p, integration, 'push', { sent });
    await sleep(5);
  }
  return (Date.now() - startedAt) / 1_000;
};

/** Sends deliveries, and clicks meanwhile. @throws if the page is too slow, or does not show what the API returns */
const watchLoad = async (live: LiveConsole, { page, faults }: OpenPage): Promise<void> => {
  const { p } = live;
  await page.evaluate(MEASURE_CLICKS);
  const fetchedAt: number[] = [];
  page.on('request', (request) => void (request.url().endsWith('/deliveries') && fetchedAt.push(Date.now())));
  const stop = new AbortController();
  const click = async (): Promise<void> => {
    for (; !stop.signal.aborted; await sleep(250)) await page.click('.switcher summary', timeout());
  };
  const end = () => stop.abort();
  const [seconds] = await Promise.all([sendDeliveries(live, stop.signal).finally(end), click().finally(end)]);
  const clicks = (await page.evaluate('document.clickTimes')) as number[];
  const slowest = Math.max(...clicks);
  console.log(
    `${SECONDS * PER_SECOND} deliveries in ${seconds} s, ${clicks.length} clicks, slowest ${slowest} ms, ${fetchedAt.length} redraws`,
  );
  assert.ok(clicks.length >= SECONDS && slowest <= MAX_ANSWER_MS * loadFactor(), `slowest click: ${slowest} ms`);
  assert.ok(fetchedAt.length >= seconds / (2 * loadFactor()) && fetchedAt.length <= 2 * seconds + 2, `${fetchedAt.length} redraws`);
  await p.waitForProjections();
  const expected = ((await p.send('GET', `${p.tenant}/deliveries`)).body as { id: string }[]).map(({ id }) => id);
  await page.waitForSelector(`#main [data-id="${expected[0]}"]`, timeout());
  const shown = (await page.evaluate(
    `[...document.querySelectorAll('#main tr[data-kind="delivery"]')].map(({ dataset }) => dataset.id)`,
  )) as string[];
  assert.ok(shown.length >= 30 && shown.length <= MAX_ROWS, `${shown.length} rows`);
  assert.equal(shown, expected.slice(0, shown.length));
  assert.equal(faults.found, []);
};

const openAndWatch = async (live: LiveConsole): Promise<void> => {
  const opened = await live.openLive('/deliveries');
  await watchLoad(live, opened).finally(() => opened.page.context().close());
};

browserTest('while 200 deliveries arrive in each of ten seconds, the page answers clicks, and shows in the end what the API returns', () =>
  repeatIfBusy(() => openAndWatch(given!)),
);

afterLastTest(() => given?.close());

test.run();
