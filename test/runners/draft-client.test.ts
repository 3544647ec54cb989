import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createDraftWriter } from '../../infra/runner/draft-client.ts';

/** Creates a writer whose drafts take `ms` milliseconds to send. */
const writerOf = (ms = 0, mask?: (text: string) => string) => {
  const sent: string[] = [];
  const draft = async (path: string, text: string): Promise<void> => {
    await sleep(ms);
    sent.push(text);
    if (text === 'broken') throw new Error('the service is down');
    assert.is(path, '/s/draft');
  };
  return { sent, ...createDraftWriter({ api: { draft }, ...(mask && { mask }) }, '/s') };
};

test('of many drafts, at most one in 300 ms is sent: the first and then the newest; a lost one stops nothing', async () => {
  const { sent, write } = writerOf();
  write('broken');
  for (let count = 0; count < 50; count++) {
    write(`text ${count}`);
    await sleep(10);
  }
  await sleep(700);
  assert.is(sent[0], 'broken');
  assert.is(sent.at(-1), 'text 49');
  assert.ok(sent.length >= 2 && sent.length <= 4, String(sent.length));
});

test('settle drops what is not sent, and waits for what is being sent; later drafts are sent at once', async () => {
  const { sent, write, settle } = writerOf(50);
  write('one');
  await sleep(10);
  write('two');
  await settle();
  assert.equal(sent, ['one']);
  write('three');
  await sleep(100);
  assert.equal(sent, ['one', 'three']);
});

test('known secrets are masked, and of a long text the end is sent that fits', async () => {
  const { sent, write, settle } = writerOf(0, (text) => text.replace('hunter2', '[secret]'));
  for (const text of ['hunter2', `${'"'.repeat(50_000)}end`]) {
    write(text);
    await sleep(5);
    await settle();
  }
  assert.is(sent[0], '[secret]');
  const bytes = Buffer.byteLength(JSON.stringify(sent[1]));
  assert.ok(bytes > 40_900 && bytes <= 40_960 && sent[1]!.endsWith('end'), String(bytes));
});

test.run();
