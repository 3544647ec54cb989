import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { startLiveConsole, timeout } from '../fixtures/live-console.ts';

const given = await startLiveConsole();

/** Starts a session of a person with this number of further messages. Returns its path, and the function that writes one. */
const startSession = async (count: number) => {
  const { p } = given!;
  const agent = ((await p.send('GET', `${p.tenant}/agents`)).body as { id: string }[])[0]!.id;
  const started = await p.send('POST', `${p.tenant}/agents/${agent}/sessions`, { body: { message: { content: 'Message 0' } } });
  assert.is(started.status, 201, started.text);
  const path = `/sessions/${(started.body as { id: string }).id}`;
  const write = (text: string) => p.send('POST', `${p.tenant}${path}/messages`, { body: { role: 'user', content: text } });
  for (let n = 1; n <= count; n++) await write(`Message ${n}`);
  await p.waitForProjections();
  return { path, write };
};

browserTest('a long conversation opens at its end and follows it; reading above the end does not move', async () => {
  const { path, write } = await startSession(60);
  const { page, faults } = await given!.openLive(path);
  const inView = (text: string) =>
    page.evaluate(
      `[...document.querySelectorAll('.message')].some((row) => row.textContent.includes(${JSON.stringify(text)}) && row.getBoundingClientRect().bottom > 0 && row.getBoundingClientRect().top < innerHeight)`,
    );
  assert.equal([await inView('Message 60'), await page.locator('.message').count()], [true, 50]);
  await write('Message 61');
  await page.waitForSelector('.message:last-child:has-text("Message 61")', timeout());
  assert.is(await inView('Message 61'), true);

  await page.evaluate(`document.querySelectorAll('.message')[3].scrollIntoView({ block: 'start' })`);
  const place = () => page.evaluate(`document.querySelectorAll('.message')[3].getBoundingClientRect().top`);
  const before = await place();
  await write('Message 62');
  await page.waitForSelector('.message:last-child:has-text("Message 62")', timeout());
  assert.equal([await place(), await inView('Message 62')], [before, false]);
  const below = page.locator('#live-new[data-below]');
  assert.is(await below.textContent(), '1 new below');
  await below.click();
  await page.waitForSelector('#live-new', { state: 'hidden', ...timeout() });
  assert.is(await inView('Message 62'), true);

  await page.click('text=Earlier messages');
  await page.waitForSelector('.message:first-child:has-text("Message 0")', timeout());
  await page.click('text=Latest messages');
  await page.waitForSelector('.message:last-child:has-text("Message 62")', timeout());
  assert.equal(faults.found, []);
  await page.context().close();
});

afterLastTest(() => given?.close());

test.run();
