import { randomBytes } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AggregateReader } from '../../commands/context.ts';
import { createAuthenticator } from '../../commands/identity/authenticate.ts';
import { NO_DIGEST } from '../../domain/digest.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { buildKey, publicIdOf } from '../../domain/identity/api-key-format.ts';
import { Refusal } from '../../domain/refusal.ts';
import { presetOf } from '../../domain/webhooks/provider.ts';
import { verifySignature } from '../../domain/webhooks/signature.ts';
import { verifiedKeyCache } from '../../infra/http/verified-key-cache.ts';
import { createInMemoryPlatform } from '../fixtures/in-memory-platform.ts';
import { sign } from '../fixtures/webhook-platform.ts';
import { type Classes, compareTimings, type Difference, welchTest } from '../fixtures/welch-t-test.ts';

const MAX_T_VALUE = 4.5;
/** What compiled code happens to cost in one process or another: some 0.3 of 20 µs, far below what can be seen over a socket. */
const MIN_SHARE = 0.05;
const TRIES = 3;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const letters = (count: number): string => Array.from(randomBytes(count), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
const many = <T>(make: () => T): T[] => Array.from({ length: 256 }, make);

const leaks = ({ t, share }: Difference): boolean => Math.abs(t) >= MAX_T_VALUE && share >= MIN_SHARE;
const text = ({ t, share }: Difference): string => `t = ${t.toFixed(1)} (${(share * 100).toFixed(1)} %)`;

/** Fails where the two classes differ in every one of three tries: noise does not, a leak does. */
const same = async <T>(name: string, run: (input: T) => unknown, classes: Classes<T>): Promise<void> => {
  const found: Difference[] = [];
  do found.push(await compareTimings(run, classes));
  while (leaks(found.at(-1)!) && found.length < TRIES);
  console.log(`${name}: ${found.map(text).join(', ')}`);
  assert.not(leaks(found.at(-1)!), `${name}: ${found.map(text)}`);
};

const p = await createInMemoryPlatform();
const looks = { loads: 0, digests: 0, names: 0 };
const load: AggregateReader['load'] = (...place) => {
  looks.loads++;
  return p.cache.load(...place);
};
const identify = createAuthenticator({
  cache: { peek: p.cache.peek, load, loadCached: (...place) => p.cache.peek(...place) ?? load(...place) },
  uniqueId: (...named) => {
    looks.names++;
    return p.vault.uniqueId(...named);
  },
  digest: (text) => {
    looks.digests++;
    return p.vault.digest(text);
  },
  verifiedKeys: verifiedKeyCache(),
  onKeyUsed: () => undefined,
  onUserSeen: () => undefined,
  verifyToken: null,
  isMember: async () => false,
  systemContext: p.systemContext,
  now: Date.now,
});
await identify.byHeader(`Bearer ${p.key}`);

const publicId = publicIdOf(p.key)!;
const owner = p.eventsOf('UserRegistered')[0]!.id;
const ids: string[] = [];
for (let index = 0; index < 256; index++) {
  const key = await p.createKey(p.tenant_id, owner);
  await identify.byHeader(`Bearer ${key}`);
  ids.push(publicIdOf(key)!);
}
const secret = p.key.slice(13, 45);
const other = (character: string): string => (character === 'a' ? 'b' : 'a');
const shown = (id: string, text: string): string => `Bearer ${buildKey(id, text)}`;

/** Whether it was refused as no key. */
const refused = async (header: string): Promise<void> => {
  try {
    await identify.byHeader(header);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'unauthorized') return;
    throw error;
  }
  throw new Error('it was let in');
};

test('the statistic tells a comparison that stops at the first difference from one that does not', async () => {
  const stops = (text: string): boolean => {
    for (let index = 0; index < secret.length; index++) if (text[index] !== secret[index]) return false;
    return true;
  };
  const classes: Classes<string> = [
    many(() => other(secret[0]!) + secret.slice(1)),
    many(() => secret.slice(0, -1) + other(secret.at(-1)!)),
  ];
  assert.ok(leaks(await compareTimings(stops, classes)));
  assert.not(leaks(welchTest([1, 2, 3, 4, 100], [1, 2, 3, 4, 900])));
});

test('a known public id with a wrong secret does what an unknown one does: one digest, two names, one look into the log', async () => {
  const done = async (header: string) => {
    Object.assign(looks, { loads: 0, digests: 0, names: 0 });
    await refused(header);
    return { ...looks };
  };
  assert.equal(await done(shown(publicId, letters(32))), { loads: 1, digests: 1, names: 2 });
  assert.equal(await done(shown(letters(8), letters(32))), { loads: 1, digests: 1, names: 2 });
  assert.equal(await done(`Bearer ${p.key.slice(0, -1)}${other(p.key.at(-1)!)}`), { loads: 0, digests: 0, names: 0 });
  Object.assign(looks, { loads: 0, digests: 0, names: 0 });
  await identify.byHeader(`Bearer ${p.key}`);
  assert.equal(looks, { loads: 0, digests: 0, names: 0 }, 'the right one is answered from memory');
});

test('an absent key is compared with a digest that nothing has', () => {
  assert.is(ApiKey.initial.digest, NO_DIGEST);
  assert.match(NO_DIGEST, /^[0-9a-f]{64}$/);
  assert.is(ApiKey.matches(ApiKey.initial, NO_DIGEST), false);
});

test('the time of an API key check tells nothing of the secret, nor which public ids there are', async () => {
  const first = () => shown(publicId, letters(1) + secret.slice(1));
  const last = () => shown(publicId, secret.slice(0, -1) + letters(1));
  const wrong = (make: () => string) => many(make).filter((header) => header !== `Bearer ${p.key}`);
  await same('first or last character', refused, [wrong(first), wrong(last)]);
  await same('known or unknown id', refused, [ids.map((id) => shown(id, letters(32))), many(() => shown(letters(8), letters(32)))]);
  await same('short or long', refused, [many(() => `Bearer ann_${letters(46)}`), many(() => `Bearer ann_${letters(48)}`)]);
});

const { scheme } = presetOf('github');
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
  body,
});

test('the time of a signature check tells neither how far it is right nor whether there is such a hook', async () => {
  const verify = ({ value, known }: { value: string; known: boolean }) => verifySignature(scheme, posted(value), known ? keys : null);
  const at = (make: () => string, known = true) => many(() => ({ value: make(), known }));
  await same('first or last digit of a signature', verify, [
    at(() => flipped(signature, 7)),
    at(() => flipped(signature, signature.length - 1)),
  ]);
  await same('known or unknown hook', verify, [at(forged), at(forged, false)]);
});

test('the platform ends', () => p.close());

test.run();
