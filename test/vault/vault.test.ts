import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, inspect } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { id25 } from '../../domain/id.ts';
import { secret } from '../../domain/secret.ts';
import { decrypt, encrypt, lengthPrefixed } from '../../infra/vault/cipher.ts';
import { randomId } from '../../infra/vault/unique-id.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const keyFile = () => join(createTempDirectory().dir, 'deeper', 'master.key');
const place = { tenant: 'acme', category: 'integration', id: 'i1', field: 'secret' };
const fails = async (work: () => unknown, message?: RegExp): Promise<void> => {
  const error = await Promise.resolve()
    .then(work)
    .then(
      () => null,
      (thrown: Error) => thrown,
    );
  assert.ok(error, 'it should have failed');
  if (message) assert.match(error!.message, message);
};

test('what is sealed opens again, by another process too', async () => {
  const log = memoryLog();
  const masterKeyFile = keyFile();
  const first = await openVault({ log, masterKeyFile });
  const sealed = await first.seal(place, secret('s3cret · 🙂'));
  assert.match(sealed, /^v1\.[\w-]{8}\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/);
  const second = await openVault({ log, masterKeyFile });
  assert.is((await second.open(place, sealed)).reveal(), 's3cret · 🙂');
});

test('the same secret is never sealed alike', async () => {
  const vault = await openVault({ log: memoryLog(), masterKeyFile: keyFile() });
  const sealed = await Promise.all(Array.from({ length: 100 }, () => vault.seal(place, secret('x'))));
  assert.is(new Set(sealed).size, 100);
});

test('a secret opens in its own place alone: all pairs of places', async () => {
  const vault = await openVault({ log: memoryLog(), masterKeyFile: keyFile() });
  const places = ['acme', 'other', 'acm'].flatMap((tenant) =>
    ['integration', 'eintegration'].flatMap((category) =>
      ['i1', 'i2'].flatMap((id) => ['secret', 'token'].map((field) => ({ tenant, category, id, field }))),
    ),
  );
  const sealed = await Promise.all(places.map((at) => vault.seal(at, secret(JSON.stringify(at)))));
  for (const [n, at] of places.entries()) {
    for (const [m, text] of sealed.entries()) {
      if (n === m) assert.is((await vault.open(at, text)).reveal(), JSON.stringify(at));
      else await fails(() => vault.open(at, text));
    }
  }
});

test('fields that run into each other are told apart', () => assert.not.equal(lengthPrefixed('ab', 'c'), lengthPrefixed('a', 'bc')));

test('1,000 flipped bits: none opens', async () => {
  const key = { kid: 'k', key: randomBytes(32) };
  const sealed = Buffer.from(encrypt(key, place, Buffer.from('a secret of some length, so that there are bits to flip')));
  const bits = sealed.length * 8;
  for (let n = 0; n < 1_000; n++) {
    const bit = n < bits ? n : Math.floor(Math.random() * bits);
    const altered = Buffer.from(sealed);
    altered[bit >> 3]! ^= 1 << (bit & 7);
    // The key's name chooses the key; here there is only one.
    if (altered.subarray(3, 4).toString() !== 'k') continue;
    await fails(() => decrypt(key.key, place, altered.toString('latin1')));
  }
});

test('tags of 4, 8 and 12 bytes fail, though they are right', async () => {
  const key = randomBytes(32);
  const nonce = randomBytes(12);
  const aad = lengthPrefixed(place.tenant, place.category, place.id, place.field, 'v1');
  for (const authTagLength of [4, 8, 12, 16]) {
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength }).setAAD(aad);
    const text = Buffer.concat([cipher.update('x'), cipher.final()]);
    const sealed = ['v1', 'k', nonce.toString('base64url'), text.toString('base64url'), cipher.getAuthTag().toString('base64url')].join(
      '.',
    );
    if (authTagLength === 16) assert.is(decrypt(key, place, sealed).toString(), 'x');
    else await fails(() => decrypt(key, place, sealed));
  }
});

test('two vaults that start at once agree on everything, and two that seal at once on one data key', async () => {
  const log = memoryLog();
  const masterKeyFile = keyFile();
  const vaults = await Promise.all(Array.from({ length: 8 }, () => openVault({ log, masterKeyFile })));
  assert.is(new Set(vaults.map((vault) => vault.uniqueId('agent', 'acme', 'slug'))).size, 1);
  assert.is(new Set(vaults.map((vault) => vault.digest('key'))).size, 1);
  const sealed = await Promise.all(vaults.map((vault, n) => vault.seal(place, secret(`s${n}`))));
  for (const [n, text] of sealed.entries()) assert.is((await vaults[(n + 3) % 8]!.open(place, text)).reveal(), `s${n}`);
  assert.equal(log.events.map(({ stream }) => stream).sort(), ['key-acme.vault', 'key-platform.name', 'key-platform.pepper']);
});

test('neither an outage of the log nor a tenant that had no key yet is remembered', async () => {
  const log = memoryLog();
  const masterKeyFile = keyFile();
  const [one, other] = [await openVault({ log, masterKeyFile }), await openVault({ log, masterKeyFile })];
  const elsewhere = await one.seal({ ...place, tenant: 'elsewhere' }, secret('s'));
  await fails(() => other.open(place, elsewhere), /has no key/);
  const back = log.outage();
  await fails(() => one.seal(place, secret('s')));
  back();
  assert.is((await other.open(place, await one.seal(place, secret('s')))).reveal(), 's');
});

test('the master key is 32 bytes for its owner alone, and is never made anew over keys that it wrapped', async () => {
  const log = memoryLog();
  const masterKeyFile = keyFile();
  await openVault({ log, masterKeyFile });
  assert.is(statSync(masterKeyFile).mode & 0o777, 0o600);
  assert.is(readFileSync(masterKeyFile).length, 32);
  const elsewhere = keyFile();
  await fails(() => openVault({ log, masterKeyFile: elsewhere }), /^the master key .* is missing[^\n]*$/);
  assert.not.ok(existsSync(elsewhere));
  writeFileSync(masterKeyFile, randomBytes(32));
  await fails(() => openVault({ log, masterKeyFile }), /^the master key .* is not the one that wrapped[^\n]*$/);
  writeFileSync(masterKeyFile, 'short');
  await fails(() => openVault({ log, masterKeyFile }), /must be 32 bytes, not 5$/);
});

test('a master key that was put there is used, not overwritten', async () => {
  const masterKeyFile = join(createTempDirectory().dir, 'given.key');
  const given = randomBytes(32);
  writeFileSync(masterKeyFile, given);
  chmodSync(masterKeyFile, 0o400);
  await openVault({ log: memoryLog(), masterKeyFile });
  assert.equal(readFileSync(masterKeyFile), given);
});

test('no key and no secret stands in the log in clear', async () => {
  const log = memoryLog();
  const masterKeyFile = keyFile();
  const vault = await openVault({ log, masterKeyFile });
  await vault.seal(place, secret('canary-in-the-vault'));
  const text = JSON.stringify(log.events.map(({ data, meta }) => [data, meta]));
  const master = readFileSync(masterKeyFile);
  for (const hidden of ['canary', master.toString('hex'), master.toString('base64'), master.toString('base64url')])
    assert.not.ok(text.includes(hidden));
});

test('a secret prints as redacted however it is printed', () => {
  const hidden = secret('canary');
  const thing = { hidden, list: [hidden] };
  const printed = [
    `${hidden}`,
    String(hidden),
    JSON.stringify(thing),
    inspect(thing, { showHidden: true, depth: 9 }),
    format('%s %o %j', hidden, hidden, thing),
    `${Object.entries(hidden)}`,
    JSON.stringify({ ...hidden }),
    new Error('x', { cause: hidden }).stack ?? '',
    inspect(new Error('x', { cause: hidden })),
  ];
  for (const text of printed) assert.not.match(text, /canary/);
  assert.is(hidden.reveal(), 'canary');
});

test('natural ids are id25, depend on every part, and on the name key', async () => {
  const [vault, other] = await Promise.all([1, 2].map(() => openVault({ log: memoryLog(), masterKeyFile: keyFile() })));
  const of = vault!.uniqueId;
  const ids = [
    of('agent', 't', 'k'),
    of('agent', 't', 'k', 1),
    of('agent', 't', 'l'),
    of('agent', 'u', 'k'),
    of('skill', 't', 'k'),
    of('agen', 'tt', 'k'),
    other!.uniqueId('agent', 't', 'k'),
  ];
  assert.is(new Set(ids).size, ids.length);
  assert.ok(ids.every((id) => id25.test(id)));
  assert.is(of('agent', 't', 'k', 0), ids[0]);
});

test('characters of ids are equally likely', () => {
  const counts = new Map<string, number>();
  const ids = 20_000;
  for (let n = 0; n < ids; n++) for (const character of randomId().slice(1)) counts.set(character, (counts.get(character) ?? 0) + 1);
  const expected = (ids * 24) / 36;
  const chi = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  assert.is(counts.size, 36);
  assert.ok(chi < 90, `chi square with 35 degrees of freedom: ${chi}`);
});

test('a digest is an HMAC, not a plain hash', async () => {
  const vault = await openVault({ log: memoryLog(), masterKeyFile: keyFile() });
  assert.match(vault.digest('ann_x'), /^[0-9a-f]{64}$/);
  assert.is.not(vault.digest('ann_x'), createHash('sha256').update('ann_x').digest('hex'));
});

test.run();
