import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checksum } from '../../domain/checksum.ts';
import { buildKey, keyFromDigest, publicIdOf } from '../../domain/identity/api-key-format.ts';

const BASE62 = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];
const SECRET = 'abcdefghijklmnopqrstuvwxyzABCDEF';
const base62 = (length: number) => fc.string({ unit: fc.constantFrom(...BASE62), minLength: length, maxLength: length });

test('the checksum of an API key is CRC-32 (IEEE) in base62, most significant digit first, padded with 0', () => {
  assert.is(crc32('123456789'), 0xcbf43926);
  assert.is(3 * 62 ** 5 + 45 * 62 ** 4 + 35 * 62 ** 3 + 27 * 62 ** 2 + 22 * 62 + 14, 0xcbf43926);
  assert.is(checksum('123456789'), [3, 45, 35, 27, 22, 14].map((digit) => BASE62[digit]).join(''));
  assert.is(checksum(''), '000000');
});

test('an API key consists of ann_, 8 characters, _, 32 characters, and the checksum of the text before it', () => {
  const key = buildKey('pub1icId', SECRET);
  assert.is(key.length, 51);
  assert.ok(key.startsWith(`ann_pub1icId_${SECRET}`));
  assert.is(key.slice(-6), checksum(key.slice(0, -6)));
  assert.is(publicIdOf(key), 'pub1icId');
});

test('an API key with one wrong character is refused', () =>
  fc.assert(
    fc.property(base62(8), base62(32), (publicId, secret) => {
      const key = buildKey(publicId, secret);
      for (let index = 0; index < key.length; index++)
        for (const digit of BASE62)
          if (digit !== key[index]) assert.is(publicIdOf(key.slice(0, index) + digit + key.slice(index + 1)), null, `${key} at ${index}`);
    }),
    { numRuns: 40 },
  ));

test('an API key is refused if two of its characters are swapped, one is missing or doubled, or a letter has the other case', () =>
  fc.assert(
    fc.property(base62(8), base62(32), fc.nat(49), (publicId, secret, index) => {
      const key = buildKey(publicId, secret);
      const swapped = key.slice(0, index) + key[index + 1] + key[index] + key.slice(index + 2);
      const others = [key.slice(0, index) + key.slice(index + 1), key.slice(0, index) + key[index] + key.slice(index)];
      for (const wrong of [swapped, ...others, key.toUpperCase(), key.toLowerCase(), `${key}\n`, ` ${key}`])
        if (wrong !== key) assert.is(publicIdOf(wrong), null, wrong);
    }),
    { numRuns: 300 },
  ));

test('an API key that is derived from a digest is well-formed; different digests give different keys', () => {
  const digests = Array.from({ length: 100 }, (_, index) => createHash('sha256').update(String(index)).digest('hex'));
  const keys = [...digests, '0'.repeat(64), 'f'.repeat(64)].map(keyFromDigest);
  for (const key of keys) assert.ok(publicIdOf(key), key);
  assert.is(new Set(keys.map(publicIdOf)).size, keys.length);
  assert.is(keyFromDigest(digests[0]!), keys[0]);
});

test.run();
