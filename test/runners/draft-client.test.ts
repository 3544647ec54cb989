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

test('at most one draft is sent in 300 ms: the first and then the newest; a lost one does not stop later ones', async () => {
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

test('known secrets are masked', async () => {
  const { sent, write, settle } = writerOf(0, (text) => text.replace('hunter2', '[secret]'));
  write('hunter2');
  await settle();
  assert.equal(sent, ['[secret]']);
});

const SECRET = 'CUST-123456';
/** Texts that are too long for one draft, and the end that is sent of each; null if there is none. */
const LONG: Record<string, readonly [text: string, sent: RegExp | null]> = {
  'many words': [`${SECRET} `.repeat(8_000), new RegExp(`^ (?:${SECRET} )+$`)],
  'many lines': [`${SECRET}\n`.repeat(8_000), new RegExp(`^\\n(?:${SECRET}\\n)+$`)],
  'quotes, which need two bytes each': [`${'"""" '.repeat(12_000)}end`, /^ (?:"""" )+end$/],
  'characters of four bytes': [`${'😀😀 '.repeat(9_000)}end`, /^ (?:😀😀 )+end$/u],
  'a long word before the end': [`${'a'.repeat(50_000)} end`, /^ end$/],
  'one word': ['a'.repeat(50_000), null],
};
for (const [name, [text, expected]] of Object.entries(LONG))
  test(`if a text of ${name} is too long, as much of its end as fits is sent, without a part of a word`, async () => {
    const { sent, write, settle } = writerOf();
    write(text);
    await settle();
    assert.is(sent.length, expected === null ? 0 : 1);
    if (expected === null) return;
    const bytes = Buffer.byteLength(JSON.stringify(sent[0]));
    assert.ok(bytes <= 40_960, String(bytes));
    assert.ok(bytes > 40_900 || sent[0] === ' end', String(bytes));
    assert.ok(expected.test(sent[0]!), sent[0]!.slice(0, 40));
  });

test('an empty draft is sent, which removes the one before', async () => {
  const { sent, write, settle } = writerOf();
  write('');
  await settle();
  assert.equal(sent, ['']);
});

test.run();
