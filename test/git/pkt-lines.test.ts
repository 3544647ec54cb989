import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readPktLines } from '../../infra/git/pkt-lines.ts';

const line = (text: string): string => (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;

async function* inChunks(text: string, size: number): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const read = async (text: string, max = 1_000, size = 65_536) => {
  const { bytes, ...rest } = await readPktLines(inChunks(text, size), max);
  return { text: Buffer.from(bytes).toString(), ...rest };
};

test('the answer of a Git server yields the same lines, however its bytes are divided into chunks', () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme', minLength: 1 })), fc.integer({ min: 1, max: 40 }), async (texts, size) => {
      const whole = `${texts.map(line).join('')}0000`;
      assert.equal(await read(whole, 1_000, size), { text: whole, hasMore: false, isComplete: true });
    }),
    { numRuns: 200 },
  ));

test('reading an answer of a Git server stops after the given number of lines, and reads no more bytes of the body than these lines need', async () => {
  const three = line('a') + line('b') + line('c');
  assert.equal(await read(`${three}0000`, 3), { text: `${three}0000`, hasMore: false, isComplete: true });
  assert.equal(await read(`${three}0000`, 2), { text: line('a') + line('b'), hasMore: true, isComplete: false });
  let chunks = 0;
  async function* endless(): AsyncIterable<Uint8Array> {
    for (;;) {
      chunks++;
      yield Buffer.from(line('x'));
    }
  }
  assert.is((await readPktLines(endless(), 5)).hasMore, true);
  assert.is(chunks, 6);
});

test('an answer of a Git server is complete only if it ends with a flush packet', async () => {
  for (const [text, isComplete] of [
    ['0000', true],
    [`${line('a')}0000`, true],
    [`${line('a')}0001${line('b')}0000`, true],
    ['', false],
    [line('a'), false],
    [`${line('a')}0001`, false],
    [`${line('a')}000`, false],
    [`${line('a')}00000`, false],
    [`0000${line('a')}`, false],
    ['0002', false],
    ['0003', false],
    ['+001', false],
    ['ffff', false],
  ] as const)
    assert.equal([text, (await read(text)).isComplete], [text, isComplete]);
});

test.run();
