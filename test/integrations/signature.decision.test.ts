// share
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { github as githubProvider } from '../../domain/integrations/providers/github.ts';
import { type SigningKeys, verifySignature } from '../../domain/integrations/signature.ts';
import { openShare } from '../fixtures/share.ts';

const github = githubProvider.scheme;
const keysOf = (current: string, previous: string | null = null): SigningKeys => ({
  current: github.key(current),
  previous: previous === null ? null : github.key(previous),
});
const verify = (header: string | undefined, body: string | Uint8Array, keys: SigningKeys | null) =>
  verifySignature(
    github,
    { header: (name) => (name === 'x-hub-signature-256' ? header : undefined), url: () => '', body: Buffer.from(body as string) },
    keys,
  );
const sign = (secret: string | Uint8Array, body: string | Uint8Array) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
const reasonOf = (header: string | undefined, body: string | Uint8Array = 'x', keys: SigningKeys | null = keysOf('secret')) =>
  verify(header, body, keys).reason;

const V1 = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';

test("the example signature in GitHub's documentation is valid", () =>
  assert.equal(verify(V1, 'Hello, World!', keysOf("It's a Secret to Everybody")), { ok: true, matched: 'current', reason: null }));

test('the example signature in the octokit test suite is valid', () =>
  assert.ok(verify('sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3', '{"foo":"bar"}', keysOf('mysecret')).ok));

test('the signature of test case 2 in RFC 4231 is valid', () =>
  assert.ok(
    verify('sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843', 'what do ya want for nothing?', keysOf('Jefe')).ok,
  ));

test('a delivery without a signature header, or with an empty one, is rejected with the reason signature_missing', () =>
  assert.equal([reasonOf(undefined), reasonOf('')], ['signature_missing', 'signature_missing']));

test('a signature without exactly 64 lower-case hexadecimal digits is rejected with the reason signature_malformed', () => {
  const right = sign('secret', 'x');
  const digits = right.slice(7);
  const malformed = [
    `${right}, ${right}`,
    `${right},${right}`,
    `sha1=${digits}`,
    `SHA256=${digits}`,
    digits,
    `sha256=${digits.toUpperCase()}A`,
    `sha256=${digits.slice(1)}`,
    `${right}0`,
    `${right}\n`,
    ` ${right}`,
    `${right} `,
    `sha256=${'g'.repeat(64)}`,
    `sha256=${'٠'.repeat(64)}`,
    `sha256=${'F'.repeat(64)}`,
    'sha256=',
    `sha256=${'0'.repeat(5000)}`,
  ];
  for (const header of malformed) assert.is(reasonOf(header), 'signature_malformed', header.slice(0, 80));
});

test('a signature does not match a body that differs from the signed one only by a space, a byte order mark or a line end', () => {
  const header = sign('secret', '{"a":1}\n');
  for (const body of ['{"a":1}\n ', '\ufeff{"a":1}\n', '{"a":1}\r\n', '{ "a": 1 }\n'])
    assert.is(reasonOf(header, body), 'signature_mismatch');
});

test('bodies that differ only in invalid UTF-8 bytes have different signatures', () => {
  const header = sign('secret', Buffer.from([0x22, 0xff, 0x22]));
  assert.is(reasonOf(header, Buffer.from([0x22, 0xff, 0x22])), null);
  assert.is(reasonOf(header, Buffer.from([0x22, 0xfe, 0x22])), 'signature_mismatch');
});

test('a signature made with the previous secret matches only if the previous secret is one of the keys of the verification', () => {
  assert.is(verify(sign('old', 'x'), 'x', keysOf('new', 'old')).matched, 'previous');
  assert.is(verify(sign('new', 'x'), 'x', keysOf('new', 'old')).matched, 'current');
  assert.is(verify(sign('old', 'x'), 'x', keysOf('new')).matched, null);
});

test('with an empty secret, no signature matches', () => assert.is(reasonOf(sign('', 'x'), 'x', keysOf('')), 'signature_mismatch'));

test('for an unknown integration no signature matches, not even a signature made with the placeholder secret', () => {
  assert.is(reasonOf(sign(new Uint8Array(32), 'x'), 'x', null), 'signature_mismatch');
});

const share = openShare();

share.test('a signature made with node:crypto matches the signed body; after any byte of the body is altered, it no longer matches', () =>
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (body, secret, index, flip) => {
        const keys = { current: secret, previous: null };
        const header = sign(secret, body);
        assert.ok(verify(header, body, keys).ok);
        if (body.length === 0) return;
        const altered = Uint8Array.from(body);
        altered[index % body.length]! ^= flip;
        assert.is(verify(header, altered, keys).reason, 'signature_mismatch');
      },
    ),
    share.runsOf(10_000),
  ),
);

test.run();
