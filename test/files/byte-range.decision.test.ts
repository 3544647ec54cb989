import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bytesInRange, rangeIn } from '../../api/http/byte-range.ts';

test('a Range header is interpreted as RFC 9110 defines', () => {
  for (const [header, expected] of [
    [undefined, null],
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=0-', { start: 0, end: 9 }],
    ['bytes=3-100', { start: 3, end: 9 }],
    ['bytes=-4', { start: 6, end: 9 }],
    ['bytes=-100', { start: 0, end: 9 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=5-4', null],
    ['bytes=0-1,3-4', null],
    ['bytes=-', null],
    ['items=0-1', null],
    ['bytes=a-b', null],
  ] as const)
    assert.equal(rangeIn(header, 10), expected, String(header));
});

test('reading a range of a content yields exactly the bytes of that range, however the content is divided into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 1, maxLength: 50 }),
      fc.nat(49),
      fc.nat(49),
      fc.integer({ min: 1, max: 9 }),
      async (all, a, b, step) => {
        const [start, end] = [Math.min(a, b, all.length - 1), Math.min(Math.max(a, b), all.length - 1)];
        const pieces = async function* () {
          for (let at = 0; at < all.length; at += step) yield all.subarray(at, at + step);
        };
        const got = Buffer.concat(await Array.fromAsync(bytesInRange(pieces(), { start, end })));
        assert.ok(got.equals(Buffer.from(all.subarray(start, end + 1))));
      },
    ),
  );
});

test.run();
