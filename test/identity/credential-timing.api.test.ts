import { randomBytes } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AggregateReader } from '../../commands/context.ts';
import { createAuthenticator } from '../../commands/identity/authenticate.ts';
import { NO_DIGEST } from '../../domain/digest.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { buildKey, publicIdOf } from '../../domain/identity/api-key-format.ts';
import { presetOf } from '../../domain/integrations/provider-preset.ts';
import { verifySignature } from '../../domain/integrations/signature.ts';
import { Refusal } from '../../domain/refusal.ts';
import { verifiedKeyCache } from '../../infra/http/verified-key-cache.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { sign } from '../fixtures/webhook-platform.ts';
import { type Classes, compareTimings, type Difference, welchTest } from '../fixtures/welch-t-test.ts';

const MAX_T_VALUE = 4.5;
/**
 * The smallest difference between two run times that counts as a leak, as a fraction of the run time. Smaller
 * differences, such as 0.3 µs in 20 µs, are normal: Node compiles the code differently in each process. Over the
 * network, a client cannot measure them.
 */
const MIN_SHARE = 0.05;
const TRIES = 3;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLetters = (count: number): string => Array.from(randomBytes(count), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
const repeat = <T>(make: () => T): T[] => Array.from({ length: 256 }, make);

const leaks = ({ t, share }: Difference): boolean => Math.abs(t) >= MAX_T_VALUE && share >= MIN_SHARE;
const text = ({ t, share }: Difference): string => `t = ${t.toFixed(1)} (${(share * 100).toFixed(1)} %)`;

/**
 * Compares the run times of two classes of inputs, up to three times. Fails only if the times differ in every
 * comparison: a real leak shows in all of them, but noise does not.
 */
const assertSameTime = async <T>(name: string, run: (input: T) => unknown, classes: Classes<T>): Promise<void> => {
  const found: Difference[] = [];
  do found.push(await compareTimings(run, classes));
  while (leaks(found.at(-1)!) && found.length < TRIES);
  console.log(`${name}: ${found.map(text).join(', ')}`);
  assert.not(leaks(found.at(-1)!), `${name}: ${found.map(text)}`);
};

const p = await createTestPlatform();
const counts = { loads: 0, digests: 0, names: 0 };
const load: AggregateReader['load'] = (...place) => {
  counts.loads++;
  return p.cache.load(...place);
};
const authenticator = createAuthenticator({
  cache: { peek: p.cache.peek, load, loadCached: (...place) => p.cache.peek(...place) ?? load(...place) },
  uniqueId: (...named) => {
    counts.names++;
    return p.vault.uniqueId(...named);
  },
  digest: (text) => {
    counts.digests++;
    return p.vault.digest(text);
  },
  verifiedKeys: verifiedKeyCache(),
  onKeyUsed: () => undefined,
  onUserSeen: () => undefined,
  onSignInSeen: () => undefined,
  verifyToken: null,
  isMember: async () => false,
  systemContext: p.systemContext,
  now: Date.now,
});
await authenticator.byHeader(`Bearer ${p.key}`);

const publicId = publicIdOf(p.key)!;
const owner = p.eventsOf('UserRegistered')[0]!.id;
const ids: string[] = [];
for (let index = 0; index < 256; index++) {
  const key = await p.createKey(p.tenant_id, owner);
  await authenticator.byHeader(`Bearer ${key}`);
  ids.push(publicIdOf(key)!);
}
const secret = p.key.slice(13, 45);
const other = (character: string): string => (character === 'a' ? 'b' : 'a');
const headerOf = (id: string, text: string): string => `Bearer ${buildKey(id, text)}`;

/** Asserts that a request with this Authorization header is refused as unauthorized. */
const assertUnauthorized = async (header: string): Promise<void> => {
  try {
    await authenticator.byHeader(header);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'unauthorized') return;
    throw error;
  }
  throw new Error('the key was accepted');
};

test('the statistical test detects a comparison that stops at the first difference', async () => {
  const stops = (text: string): boolean => {
    for (let index = 0; index < secret.length; index++) if (text[index] !== secret[index]) return false;
    return true;
  };
  const classes: Classes<string> = [
    repeat(() => other(secret[0]!) + secret.slice(1)),
    repeat(() => secret.slice(0, -1) + other(secret.at(-1)!)),
  ];
  assert.ok(leaks(await compareTimings(stops, classes)));
  assert.not(leaks(welchTest([1, 2, 3, 4, 100], [1, 2, 3, 4, 900])));
});

test('checking an API key with a wrong secret computes one digest and two unique ids and reads the log once, whether or not the public id of the key exists', async () => {
  const done = async (header: string) => {
    Object.assign(counts, { loads: 0, digests: 0, names: 0 });
    await assertUnauthorized(header);
    return { ...counts };
  };
  assert.equal(await done(headerOf(publicId, randomLetters(32))), { loads: 1, digests: 1, names: 2 });
  assert.equal(await done(headerOf(randomLetters(8), randomLetters(32))), { loads: 1, digests: 1, names: 2 });
  assert.equal(await done(`Bearer ${p.key.slice(0, -1)}${other(p.key.at(-1)!)}`), { loads: 0, digests: 0, names: 0 });
  Object.assign(counts, { loads: 0, digests: 0, names: 0 });
  await authenticator.byHeader(`Bearer ${p.key}`);
  assert.equal(counts, { loads: 0, digests: 0, names: 0 }, 'a verified key is found in memory');
});

test('the digest of an API key that does not exist is a placeholder of the same form as a real digest', () => {
  assert.is(ApiKey.initial.digest, NO_DIGEST);
  assert.match(NO_DIGEST, /^[0-9a-f]{64}$/);
  assert.is(ApiKey.matches(ApiKey.initial, NO_DIGEST), false);
});

test('the time to check an API key reveals neither its secret nor which public ids exist', async () => {
  const first = () => headerOf(publicId, randomLetters(1) + secret.slice(1));
  const last = () => headerOf(publicId, secret.slice(0, -1) + randomLetters(1));
  const wrong = (make: () => string) => repeat(make).filter((header) => header !== `Bearer ${p.key}`);
  await assertSameTime('first or last character', assertUnauthorized, [wrong(first), wrong(last)]);
  await assertSameTime('known or unknown id', assertUnauthorized, [
    ids.map((id) => headerOf(id, randomLetters(32))),
    repeat(() => headerOf(randomLetters(8), randomLetters(32))),
  ]);
  await assertSameTime('short or long', assertUnauthorized, [
    repeat(() => `Bearer ann_${randomLetters(46)}`),
    repeat(() => `Bearer ann_${randomLetters(48)}`),
  ]);
});

const { scheme } = presetOf(null);
const body = Buffer.from('{"zen":"Keep it simple"}');
const SECRET = 'a secret of more than 24 bytes';
const keys = { current: scheme.key(SECRET), previous: null };
const signature = sign(body, SECRET);
const HEX = '0123456789abcdef';
const flipped = (text: string, at: number): string =>
  text.slice(0, at) + [...HEX].filter((digit) => digit !== text[at])[randomBytes(1)[0]! % 15] + text.slice(at + 1);
const forged = () => `sha256=${randomBytes(32).toString('hex')}`;
const posted = (value: string) => ({
  header: () => value,
  url: () => '',
  body,
});

test('the time to check a signature reveals neither how much of it is correct nor whether the webhook exists', async () => {
  const verify = ({ value, known }: { value: string; known: boolean }) => verifySignature(scheme, posted(value), known ? keys : null);
  const at = (make: () => string, known = true) => repeat(() => ({ value: make(), known }));
  await assertSameTime('first or last digit of a signature', verify, [
    at(() => flipped(signature, 7)),
    at(() => flipped(signature, signature.length - 1)),
  ]);
  await assertSameTime('known or unknown webhook', verify, [at(forged), at(forged, false)]);
});

afterLastTest(() => p.close());

test.run();
