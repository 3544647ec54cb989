import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match } from 'uvu/assert';
import * as KeyRotation from '../../domain/operations/key-rotation.ts';
import { secret } from '../../domain/secret.ts';
import { keyFinding } from '../../infra/cli/doctor/key-age-check.ts';
import { openRotationRecord } from '../../infra/rotation/rotation-record.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const actor = { kind: 'system', id: 'test' } as const;
const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();

const given = async () => {
  const [log, masterKeyFile] = [memoryLog(), join(createTempDirectory().dir, 'master.key')];
  const vault = await openVault({ log, masterKeyFile });
  await vault.seal({ tenant: 'acme', category: 'agent', id: 'a', field: 'f' }, secret('s'));
  const addKey = (tenant: string, at: string, wrapper?: string) =>
    log.append(`key-${tenant}.vault`, 'none', [
      {
        id: randomUUID(),
        type: 'DataKeyCreated',
        data: { kid: 'k', wrapped: `v1.${wrapper ?? vault.masterKeyIds()[0]}.n.c.t` },
        meta: { tenant, actor, at, v: 1 },
      },
    ]);
  const startRotation = (at: string) =>
    log.append(`${KeyRotation.category}-platform.${KeyRotation.ROTATIONS_ID}`, 'none', [
      {
        id: randomUUID(),
        type: 'MasterKeyRotationStarted',
        data: { from_kid: 'a', to_kid: 'b' },
        meta: { tenant: 'platform', actor, at, v: 1 },
      },
    ]);
  return { log, masterKeyFile, addKey, startRotation, finding: () => keyFinding(log, masterKeyFile) };
};

test('doctor shows the ages of the master key and of the oldest data key', async () => {
  const p = await given();
  await p.addKey('other', daysAgo(89));
  const { level, message } = await p.finding();
  is(level, 'ok');
  is(message, 'the master key is 0 days old, the oldest of the data keys of 2 tenants 89 days old');
});

test('doctor warns about a data key that is older than 90 days, and names the command that rotates it', async () => {
  const p = await given();
  await p.addKey('other', daysAgo(91));
  const { level, message, advice } = await p.finding();
  equal([level, advice], ['warn', 'annals vault rotate --due']);
  match(message, /^1 data keys? .*older than 90 days/);
});

test('doctor warns about a key rotation that has been in progress for more than an hour, but not about one that has just started', async () => {
  const p = await given();
  await p.startRotation(new Date(Date.now() - 60_000).toISOString());
  is((await p.finding()).level, 'ok');
  const old = await given();
  await old.startRotation(daysAgo(1));
  equal([(await old.finding()).level, (await old.finding()).advice], ['warn', 'annals vault rotate --master --finish']);
  await openRotationRecord(old.log).transact(KeyRotation.confirmMasterRotation('b'), actor);
  match((await old.finding()).advice!, /^start annals work/);
});

test('doctor warns about data keys that are encrypted with another master key than the present one', async () => {
  const p = await given();
  await p.addKey('other', daysAgo(1), 'oldKeyId');
  const { level, message, advice } = await p.finding();
  equal([level, advice], ['warn', 'annals vault rotate --master']);
  match(message, /^1 of 5 keys needs an older master key than /);
});

test('doctor skips the check of key ages if the master key is not the one of the log, and before the first start', async () => {
  const p = await given();
  writeFileSync(p.masterKeyFile, Buffer.alloc(32));
  is((await p.finding()).level, 'none');
  is((await keyFinding(memoryLog(), p.masterKeyFile)).level, 'none');
});

test.run();
