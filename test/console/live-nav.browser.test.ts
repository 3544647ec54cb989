// limit: 180
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { createAgent } from '../fixtures/console-platform.ts';
import { startLiveConsole, timeout } from '../fixtures/live-console.ts';

const given = await startLiveConsole();

const COUNT = '#nav a[href$="/agents"] .nav-count';
type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

browserTest('an open page keeps its counts while they cannot be read, and shows the new ones afterwards', async () => {
  const { p } = given!;
  const paused = await createAgent(p, 'Paused');
  await p.send('PATCH', `${p.tenant}/agents/${paused}`, { body: { is_active: false } });
  await p.waitForProjections();
  const { page } = await given!.openLive('/agents');
  await page.waitForSelector(COUNT, timeout());
  const { rows } = p.reads;
  p.reads.rows = ((query, args) =>
    (args as { status?: string }).status === 'waiting' ? Promise.reject(new Error('No answer')) : rows(query, args)) as typeof rows;
  try {
    await createAgent(p, 'Added meanwhile');
    await page.waitForSelector('#main >> text=Added meanwhile', timeout());
    assert.is(await page.textContent(COUNT), '1 stopped');
  } finally {
    p.reads.rows = rows;
  }
  await p.send('PATCH', `${p.tenant}/agents/${paused}`, { body: { is_active: true } });
  await page.waitForSelector(COUNT, { state: 'detached', ...timeout() });
  await page.context().close();
});

browserTest('while it is unknown who the visitor is, an open page keeps its navigation', async () => {
  const { p } = given!;
  const { page } = await given!.openLive('/agents');
  const reads = p.reads as Mutable<typeof p.reads>;
  const original = reads.page;
  reads.page = (() => Promise.reject(new Refusal('unavailable', 'Try again', { retryAfter: 1 }))) as typeof original;
  try {
    await createAgent(p, 'Added in the outage');
    await page.waitForSelector('#main [data-problem]', timeout());
    assert.ok(await page.isVisible('#nav a[href$="/audit"]'));
  } finally {
    reads.page = original;
  }
  await page.waitForSelector('#main >> text=Added in the outage', timeout());
  assert.ok(await page.isVisible('#nav a[href$="/audit"]'));
  await page.context().close();
});

afterLastTest(() => given?.close());

test.run();
