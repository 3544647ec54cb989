import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as KeyRotation from '../../domain/operations/key-rotation.ts';
import { secret } from '../../domain/secret.ts';
import { findKeyPlaces } from '../../infra/rotation/rewrap-keys.ts';
import { continueMasterRotation, type MasterRotationParts, startMasterRotation } from '../../infra/rotation/rotate-master-key.ts';
import { openRotationRecord } from '../../infra/rotation/rotation-record.ts';
import { loadMasterKey } from '../../infra/vault/master-key.ts';
import { openVault, type Vault } from '../../infra/vault/vault.ts';
import { readWrappedKeys, wrapperOf, wrapsOf } from '../../infra/vault/wrapped-keys.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const actor = { kind: 'system', id: 'test' } as const;
const TENANTS = ['acme', 'other', 'third'];
const at = (tenant: string) => ({ tenant, category: 'integration', id: 'i1', field: 'secret' });

const failureOf = (work: () => Promise<unknown>): Promise<string> =>
  work().then(
    () => 'none',
    (error: Error) => error.message,
  );

/**
 * Creates a platform with secrets of three tenants. The returned `openWith` simulates another machine: it opens a vault
 * with a copy of a master key file.
 */
const given = async () => {
  const log = memoryLog();
  const dir = createTempDirectory().dir;
  const masterKeyFile = join(dir, 'master.key');
  const vault = await openVault({ log, masterKeyFile });
  const sealed = await Promise.all(TENANTS.map((tenant) => vault.seal(at(tenant), secret(`of ${tenant}`))));
  const record = openRotationRecord(log);
  const parts: MasterRotationParts = { record, masterKeyFile, actor, scavenge: async () => 'scavenged', graceMs: 0 };
  const openWith = (file: string): Promise<Vault> => {
    const elsewhere = join(createTempDirectory().dir, 'master.key');
    copyFileSync(file, elsewhere);
    return openVault({ log, masterKeyFile: elsewhere });
  };
  const secretsIn = (opened: Vault): Promise<string[]> =>
    Promise.all(TENANTS.map(async (tenant, index) => (await opened.open(at(tenant), sealed[index]!)).reveal()));
  const confirm = async (to: string) => record.transact(KeyRotation.confirmMasterRotation(to), actor);
  const rotate = async (more: Partial<MasterRotationParts> = {}) => {
    await confirm(await startMasterRotation({ ...parts, ...more }));
    return continueMasterRotation({ ...parts, ...more });
  };
  return { log, dir, masterKeyFile, vault, record, parts, openWith, secretsIn, confirm, rotate };
};

type Given = Awaited<ReturnType<typeof given>>;

const SECRETS = TENANTS.map((tenant) => `of ${tenant}`);

/** Returns the ids of the master keys that encrypt the keys in the log. */
const wrappersIn = async ({ log }: Given): Promise<string[]> => {
  const found = new Set<string>();
  for (const { tenant, id } of await findKeyPlaces(log))
    for (const wrapped of (await readWrappedKeys(log, tenant, id)).flatMap(wrapsOf)) found.add(wrapperOf(wrapped));
  return [...found];
};

test('after a rotation of the master key, the new one decrypts every secret and derives the same ids; the old one decrypts nothing', async () => {
  const p = await given();
  const old = await loadMasterKey(p.masterKeyFile, false);
  const id = p.vault.uniqueId('agent', 'acme', 'slug');
  copyFileSync(p.masterKeyFile, join(p.dir, 'copy.key'));
  assert.is(await p.rotate(), 'completed');
  const { kid } = await loadMasterKey(p.masterKeyFile, false);
  assert.is.not(kid, old.kid);
  assert.equal(await wrappersIn(p), [kid]);
  const after = await p.openWith(p.masterKeyFile);
  assert.equal(await p.secretsIn(after), SECRETS);
  assert.is(after.uniqueId('agent', 'acme', 'slug'), id);
  assert.is(after.digest('x'), p.vault.digest('x'));
  assert.match(await failureOf(() => p.openWith(join(p.dir, 'copy.key'))), /is not the one that encrypted/);
  assert.equal(readFileSync(`${p.masterKeyFile}.old-${old.kid}`), readFileSync(join(p.dir, 'copy.key')));
  assert.not(existsSync(`${p.masterKeyFile}.next`));
});

test('until a rotation of the master key is confirmed, both machines that have only the old one and machines that have only the new one work', async () => {
  const p = await given();
  await startMasterRotation(p.parts);
  assert.is(await continueMasterRotation(p.parts), 'waits-for-confirmation');
  const [before, after] = [await p.openWith(p.masterKeyFile), await p.openWith(`${p.masterKeyFile}.next`)];
  assert.equal(await p.secretsIn(before), SECRETS);
  assert.equal(await p.secretsIn(after), SECRETS);
  const late = await before.seal(at('late'), secret('late'));
  assert.is((await p.vault.open(at('late'), late)).reveal(), 'late');
});

test('a process that runs during a rotation of the master key can decrypt secrets, and encrypt those of new tenants, before and after every step', async () => {
  const p = await given();
  const running = await openVault({ log: p.log, masterKeyFile: p.masterKeyFile });
  let steps = 0;
  const late: [string, string][] = [];
  const onStep = async (step: string): Promise<void> => {
    const tenant = `late${steps++}`;
    // Encrypt a secret for a new tenant in every third step only: its new data key adds a step to the rotation.
    if (steps % 3 === 1 || step === 'truncate key-platform.name') late.push([tenant, await running.seal(at(tenant), secret(tenant))]);
    assert.equal(await p.secretsIn(await openVault({ log: p.log, masterKeyFile: p.masterKeyFile })), SECRETS);
  };
  assert.is(await p.rotate({ onStep }), 'completed');
  assert.ok(steps > 10, `${steps} steps`);
  const after = await p.openWith(p.masterKeyFile);
  for (const [tenant, sealed] of late) assert.is((await after.open(at(tenant), sealed)).reveal(), tenant);
  assert.equal(await p.secretsIn(running), SECRETS);
});

test('a process that started before a rotation of the master key reads the new one when it needs a data key that is not in memory', async () => {
  const p = await given();
  const running = await openVault({ log: p.log, masterKeyFile: p.masterKeyFile });
  await p.rotate();
  assert.equal(await p.secretsIn(running), SECRETS);
  const sealed = await running.seal(at('new'), secret('n'));
  assert.is((await (await p.openWith(p.masterKeyFile)).open(at('new'), sealed)).reveal(), 'n');
});

test('a rotation of the master key that fails at any step is completed by the next run; in between, every secret stays readable', async () => {
  const p = await given();
  let total = Number.POSITIVE_INFINITY;
  for (let failing = 1; failing <= total; failing++) {
    const old = await loadMasterKey(p.masterKeyFile, false);
    let steps = 0;
    const onStep = (): void => {
      if (++steps === failing) throw new Error('killed');
    };
    const failure = await failureOf(() => p.rotate({ onStep }));
    if (failure === 'none') total = steps;
    else assert.is(failure, 'killed');
    assert.equal(await p.secretsIn(await openVault({ log: p.log, masterKeyFile: p.masterKeyFile })), SECRETS);
    if (failure === 'killed') assert.is(await p.rotate(), 'completed');
    const { kid } = await loadMasterKey(p.masterKeyFile, false);
    assert.is.not(kid, old.kid);
    assert.equal(await wrappersIn(p), [kid]);
    assert.equal(await p.secretsIn(await p.openWith(p.masterKeyFile)), SECRETS);
  }
  assert.ok(total > 15, `${total} steps`);
});

test('if a rotation stops after it has kept a copy of the old key file but before it has replaced the file, the next run completes the rotation', async () => {
  const p = await given();
  const to = await startMasterRotation(p.parts);
  await continueMasterRotation(p.parts);
  await p.confirm(to);
  const { kid } = await loadMasterKey(p.masterKeyFile, false);
  linkSync(p.masterKeyFile, `${p.masterKeyFile}.old-${kid}`);
  assert.is(await continueMasterRotation(p.parts), 'completed');
  assert.is((await loadMasterKey(p.masterKeyFile, false)).kid, to);
});

test('if the platform may not write MASTER_KEY_FILE, the operator can replace the file with the next key, and the rotation completes', async () => {
  const p = await given();
  const to = await startMasterRotation(p.parts);
  await continueMasterRotation(p.parts);
  await p.confirm(to);
  renameSync(p.masterKeyFile, `${p.masterKeyFile}.old-x`);
  renameSync(`${p.masterKeyFile}.next`, p.masterKeyFile);
  assert.is(await continueMasterRotation(p.parts), 'completed');
  assert.equal(await p.secretsIn(await p.openWith(p.masterKeyFile)), SECRETS);
});

test('if the next master key is lost before it is confirmed, the next start of a rotation creates a new one; if it is lost after that, it must be restored', async () => {
  const p = await given();
  await startMasterRotation(p.parts);
  await continueMasterRotation(p.parts);
  const next = `${p.masterKeyFile}.next`;
  renameSync(next, join(p.dir, 'lost'));
  assert.match(await failureOf(() => continueMasterRotation(p.parts)), /^the next master key \S+ is missing/);
  const to = await startMasterRotation(p.parts);
  await p.confirm(to);
  renameSync(next, join(p.dir, 'kept'));
  assert.match(await failureOf(() => continueMasterRotation(p.parts)), /^the next master key \S+ is missing/);
  assert.is(await startMasterRotation(p.parts), to);
  assert.not(existsSync(next));
  renameSync(join(p.dir, 'kept'), next);
  assert.is(await continueMasterRotation(p.parts), 'completed');
  assert.equal(await p.secretsIn(await p.openWith(p.masterKeyFile)), SECRETS);
});

test('a rotation of the master key reports a damaged data key and leaves it unchanged, and rotates the other data keys', async () => {
  const p = await given();
  const damaged = {
    kid: 'k',
    wrapped: `v1.${(await loadMasterKey(p.masterKeyFile, false)).kid}.AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA`,
  };
  const meta = { tenant: 'broken', actor, at: '2026-11-23T10:00:00.000Z', v: 1 };
  const id = '00000000-0000-4000-8000-000000000001';
  await p.log.append('key-broken.vault', 'none', [{ id, type: 'DataKeyCreated', data: damaged, meta }]);
  const lines: string[] = [];
  assert.is(await p.rotate({ onProgress: (line) => lines.push(line) }), 'completed');
  assert.ok(
    lines.some((line) => /^left as it is: the key k in key-broken.vault is damaged/.test(line)),
    lines.join('\n'),
  );
  assert.equal(await p.secretsIn(await p.openWith(p.masterKeyFile)), SECRETS);
  assert.is((await readWrappedKeys(p.log, 'broken', 'vault')).length, 1);
});

test('a log from before a rotation, such as a restored backup, can be read if the file of the old master key is kept beside that of the new one', async () => {
  const p = await given();
  const { kid } = await loadMasterKey(p.masterKeyFile, false);
  renameSync(p.masterKeyFile, `${p.masterKeyFile}.old-${kid}`);
  writeFileSync(p.masterKeyFile, Buffer.alloc(32, 7));
  const restored = await openVault({ log: p.log, masterKeyFile: p.masterKeyFile });
  assert.equal(await p.secretsIn(restored), SECRETS);
  const sealed = await restored.seal(at('new'), secret('n'));
  assert.is((await (await openVault({ log: p.log, masterKeyFile: p.masterKeyFile })).open(at('new'), sealed)).reveal(), 'n');
});

test('the new master key can be read by the same users as the old one, even if root rotates it', async () => {
  const p = await given();
  const isRoot = process.getuid!() === 0;
  const wanted = isRoot ? [12_345, 12_346] : [statSync(p.masterKeyFile).uid, statSync(p.masterKeyFile).gid];
  chownSync(p.masterKeyFile, wanted[0]!, wanted[1]!);
  chmodSync(p.masterKeyFile, 0o640);
  await p.rotate();
  const { uid, gid, mode } = statSync(p.masterKeyFile);
  assert.equal([uid, gid, mode & 0o777], [...wanted, 0o640]);
});

test('a rotation is refused, and nothing is recorded, if the file of the next master key has the wrong size', async () => {
  const p = await given();
  writeFileSync(`${p.masterKeyFile}.next`, 'short');
  assert.match(await failureOf(() => startMasterRotation(p.parts)), /must be 32 bytes, not 5$/);
  assert.is((await p.record.load()).master, null);
  assert.is(readdirSync(p.dir).length, 2);
});

test('a rotation of the master key keeps the creation time of data keys, and skips erased tenants', async () => {
  const p = await given();
  const [before] = await readWrappedKeys(p.log, 'acme', 'vault');
  await p.log.tombstone('key-third.vault');
  assert.is(await p.rotate(), 'completed');
  const [after] = await readWrappedKeys(p.log, 'acme', 'vault');
  assert.equal([after!.kid, after!.created_at, after!.earlier], [before!.kid, before!.created_at, []]);
});

test.run();
