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
const location = { tenant: 'acme', category: 'integration', id: 'i1', field: 'secret' };
const assertFails = async (work: () => unknown, message?: RegExp): Promise<void> => {
  const error = await Promise.resolve()
    .then(work)
    .then(
      () => null,
      (thrown: Error) => thrown,
    );
  assert.ok(error, 'it must fail');
  if (message) assert.match(error!.message, message);
};

test('secrets that a vault has encrypted can be decrypted by this vault and by the vault of another process on the same log', async () => {
  const log = memoryLog();
  const masterKeyFile = keyFile();
  const first = await openVault({ log, masterKeyFile });
  const sealed = await first.seal(location, secret('s3cret · 🙂'));
  assert.match(sealed, /^v1\.[\w-]{8}\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/);
  const second = await openVault({ log, masterKeyFile });
  assert.is((await second.open(location, sealed)).reveal(), 's3cret · 🙂');
});

test('encrypting the same secret twice yields different texts', async () => {
  const vault = await openVault({ log: memoryLog(), masterKeyFile: keyFile() });
  const sealed = await Promise.all(Array.from({ length: 100 }, () => vault.seal(location, secret('x'))));
  assert.is(new Set(sealed).size, 100);
});

test('a secret that was encrypted for one location (such as a tenant and a field) cannot be decrypted for any other location', async () => {
  const vault = await openVault({ log: memoryLog(), masterKeyFile: keyFile() });
  const locations = ['acme', 'other', 'acm'].flatMap((tenant) =>
    ['integration', 'eintegration'].flatMap((category) =>
      ['i1', 'i2'].flatMap((id) => ['secret', 'token'].map((field) => ({ tenant, category, id, field }))),
    ),
  );
  const sealed = await Promise.all(locations.map((at) => vault.seal(at, secret(JSON.stringify(at)))));
  for (const [n, at] of locations.entries()) {
    for (const [m, text] of sealed.entries()) {
      if (n === m) assert.is((await vault.open(at, text)).reveal(), JSON.stringify(at));
      else await assertFails(() => vault.open(at, text));
    }
  }
});

test('two different lists of fields have different encodings, even if joining the fields yields the same text', () =>
  assert.not.equal(lengthPrefixed('ab', 'c'), lengthPrefixed('a', 'bc')));

test('if one bit of an encrypted text was changed, decrypting it fails', async () => {
  const key = { kid: 'k', key: randomBytes(32) };
  const sealed = Buffer.from(encrypt(key, location, Buffer.from('a secret of some length, so that there are bits to flip')));
  const bits = sealed.length * 8;
  for (let n = 0; n < 1_000; n++) {
    const bit = n < bits ? n : Math.floor(Math.random() * bits);
    const altered = Buffer.from(sealed);
    altered[bit >> 3]! ^= 1 << (bit & 7);
    // Skip changes of the key id in the encrypted text: it only selects the data key, and this test always decrypts
    // with the same one.
    if (altered.subarray(3, 4).toString() !== 'k') continue;
    await assertFails(() => decrypt(key.key, location, altered.toString('latin1')));
  }
});

test('decrypting fails if the authentication tag has 4, 8 or 12 bytes, even if these bytes are correct', async () => {
  const key = randomBytes(32);
  const nonce = randomBytes(12);
  const aad = lengthPrefixed(location.tenant, location.category, location.id, location.field, 'v1');
  for (const authTagLength of [4, 8, 12, 16]) {
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength }).setAAD(aad);
    const text = Buffer.concat([cipher.update('x'), cipher.final()]);
    const sealed = ['v1', 'k', nonce.toString('base64url'), text.toString('base64url'), cipher.getAuthTag().toString('base64url')].join(
      '.',
    );
    if (authTagLength === 16) assert.is(decrypt(key, location, sealed).toString(), 'x');
    else await assertFails(() => decrypt(key, location, sealed));
  }
});

test('vaults that are opened at the same time share the platform keys, and create only one data key for a tenant', async () => {
  const log = memoryLog();
  const masterKeyFile = keyFile();
  const vaults = await Promise.all(Array.from({ length: 8 }, () => openVault({ log, masterKeyFile })));
  assert.is(new Set(vaults.map((vault) => vault.uniqueId('agent', 'acme', 'slug'))).size, 1);
  assert.is(new Set(vaults.map((vault) => vault.digest('key'))).size, 1);
  const sealed = await Promise.all(vaults.map((vault, n) => vault.seal(location, secret(`s${n}`))));
  for (const [n, text] of sealed.entries()) assert.is((await vaults[(n + 3) % 8]!.open(location, text)).reveal(), `s${n}`);
  assert.equal(log.events.map(({ stream }) => stream).sort(), [
    'key-acme.vault',
    'key-platform.name',
    'key-platform.pepper',
    'key-platform.spool',
  ]);
});

test('if a vault could not read or create a key because the key was missing or the log was down, the vault tries again when the key is next needed', async () => {
  const log = memoryLog();
  const masterKeyFile = keyFile();
  const [one, other] = [await openVault({ log, masterKeyFile }), await openVault({ log, masterKeyFile })];
  const elsewhere = await one.seal({ ...location, tenant: 'elsewhere' }, secret('s'));
  await assertFails(() => other.open(location, elsewhere), /has no key/);
  const endOutage = log.outage();
  await assertFails(() => one.seal(location, secret('s')));
  endOutage();
  assert.is((await other.open(location, await one.seal(location, secret('s')))).reveal(), 's');
});

test('only its owner can read the master key file; if the log has keys, a missing or wrong file is not replaced', async () => {
  const log = memoryLog();
  const masterKeyFile = keyFile();
  await openVault({ log, masterKeyFile });
  assert.is(statSync(masterKeyFile).mode & 0o777, 0o600);
  assert.is(readFileSync(masterKeyFile).length, 32);
  const elsewhere = keyFile();
  await assertFails(() => openVault({ log, masterKeyFile: elsewhere }), /^the master key .* is missing[^\n]*$/);
  assert.not.ok(existsSync(elsewhere));
  writeFileSync(masterKeyFile, randomBytes(32));
  await assertFails(() => openVault({ log, masterKeyFile }), /^the master key .* is not the one that encrypted[^\n]*$/);
  writeFileSync(masterKeyFile, 'short');
  await assertFails(() => openVault({ log, masterKeyFile }), /must be 32 bytes, not 5$/);
});

test('if a master key file exists, it is used and not overwritten', async () => {
  const masterKeyFile = join(createTempDirectory().dir, 'given.key');
  const existing = randomBytes(32);
  writeFileSync(masterKeyFile, existing);
  chmodSync(masterKeyFile, 0o400);
  await openVault({ log: memoryLog(), masterKeyFile });
  assert.equal(readFileSync(masterKeyFile), existing);
});

test('the log contains no key and no secret in plain text', async () => {
  const log = memoryLog();
  const masterKeyFile = keyFile();
  const vault = await openVault({ log, masterKeyFile });
  await vault.seal(location, secret('canary-in-the-vault'));
  const text = JSON.stringify(log.events.map(({ data, meta }) => [data, meta]));
  const master = readFileSync(masterKeyFile);
  for (const hidden of ['canary', master.toString('hex'), master.toString('base64'), master.toString('base64url')])
    assert.not.ok(text.includes(hidden));
});

test('converting a decrypted secret to a text, in any way, does not show the secret', () => {
  const hidden = secret('canary');
  const container = { hidden, list: [hidden] };
  const printed = [
    `${hidden}`,
    String(hidden),
    JSON.stringify(container),
    inspect(container, { showHidden: true, depth: 9 }),
    format('%s %o %j', hidden, hidden, container),
    `${Object.entries(hidden)}`,
    JSON.stringify({ ...hidden }),
    new Error('x', { cause: hidden }).stack ?? '',
    inspect(new Error('x', { cause: hidden })),
  ];
  for (const text of printed) assert.not.match(text, /canary/);
  assert.is(hidden.reveal(), 'canary');
});

test("a unique id has the format id25, and depends on every part of its unique key and on the platform's name key", async () => {
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

test('in random ids, all characters are equally likely', () => {
  const counts = new Map<string, number>();
  const ids = 20_000;
  for (let n = 0; n < ids; n++) for (const character of randomId().slice(1)) counts.set(character, (counts.get(character) ?? 0) + 1);
  const expected = (ids * 24) / 36;
  const chi = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  assert.is(counts.size, 36);
  assert.ok(chi < 90, `chi square with 35 degrees of freedom: ${chi}`);
});

test("the vault's digest of a text differs from the plain SHA-256 of the text, because it depends on a key", async () => {
  const vault = await openVault({ log: memoryLog(), masterKeyFile: keyFile() });
  assert.match(vault.digest('ann_x'), /^[0-9a-f]{64}$/);
  assert.is.not(vault.digest('ann_x'), createHash('sha256').update('ann_x').digest('hex'));
});

test.run();
