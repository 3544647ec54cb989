// limit: 300 s for this file (test/run.ts)

import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, not, ok } from 'uvu/assert';
import { secret } from '../../domain/secret.ts';
import { blobPath } from '../../infra/blobs/blob-directory.ts';
import { openBlobStore, openDirectoryPlace } from '../../infra/blobs/open-blob-store.ts';
import { kidOfHeader } from '../../infra/blobs/sealed-blob.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { rotations } from '../../infra/rotation/finish-rotations.ts';
import { findKeyPlaces } from '../../infra/rotation/rewrap-keys.ts';
import { openRotationRecord } from '../../infra/rotation/rotation-record.ts';
import { createLazyVault } from '../../infra/vault/lazy-vault.ts';
import { loadMasterKey } from '../../infra/vault/master-key.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { readWrappedKeys, wrapsOf } from '../../infra/vault/wrapped-keys.ts';
import { startProgram } from '../fixtures/child-process.ts';
import { silentLogger, waitUntil } from '../fixtures/live-projections.ts';
import { startWorker } from '../fixtures/start-worker.ts';
import { startStore } from '../fixtures/store-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const TENANTS = ['acme', 'other'];
const at = (tenant: string) => ({ tenant, category: 'integration', id: 'i1', field: 'secret' });
const program = join(import.meta.dirname, '../fixtures/rotation-process.ts');

const wrapsIn = async (log: Log): Promise<string[]> => {
  const found: string[] = [];
  for (const { tenant, id } of await findKeyPlaces(log)) found.push(...(await readWrappedKeys(log, tenant, id)).flatMap(wrapsOf));
  return found;
};

/** Returns which of these encrypted keys occur in a file of the event store. */
const keptIn = (dir: string, wraps: readonly string[]): string[] => {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name)));
  return wraps.filter((wrapped) => bytes.some((content) => content.includes(wrapped)));
};

test('no matter before which step a rotation of the master key is killed, the next worker completes it; the old key then decrypts no data key on the disk', async () => {
  const { dir } = createTempDirectory();
  const store = await startStore({ dir: join(dir, 'store') });
  const log = openLog(store.url);
  const databaseUrl = await freshDatabase();
  const masterKeyFile = join(dir, 'master.key');
  const vault = await openVault({ log, masterKeyFile });
  const sealed = await Promise.all(TENANTS.map((tenant) => vault.seal(at(tenant), secret(`of ${tenant}`))));
  const secretsWith = async (file: string): Promise<string[]> => {
    const opened = await openVault({ log, masterKeyFile: file });
    return Promise.all(TENANTS.map(async (tenant, index) => (await opened.open(at(tenant), sealed[index]!)).reveal()));
  };
  const secrets = TENANTS.map((tenant) => `of ${tenant}`);
  const record = openRotationRecord(log);

  let isOver = false;
  let killed = 0;
  while (!isOver) {
    const before = await loadMasterKey(masterKeyFile, false);
    const oldWraps = await wrapsIn(log);
    const child = startProgram(process.execPath, [program, store.url, masterKeyFile, dir, String(killed + 1)]);
    const end = await child.ended;
    isOver = end === 0;
    if (!isOver) is(end, 'SIGKILL', child.output());
    if (!isOver) killed += 1;
    equal(await secretsWith(masterKeyFile), secrets, `after the kill before: ${child.output()}`);
    if ((await record.load()).master?.is_confirmed) {
      const vaultOf = createLazyVault(log, masterKeyFile);
      const config = { masterKeyFile, annalsData: dir };
      const parts = { log, databaseUrl, logger: silentLogger, config, intervalMs: 50, graceMs: 0 };
      const worker = startWorker([rotations], { ...parts, vault: vaultOf, blobPlace: async () => null });
      await waitUntil('the rotation is completed', record.load, ({ master }) => master === null, 30);
      await worker.close();
    }
    const { kid } = await loadMasterKey(masterKeyFile, false);
    const hasRotated = kid !== before.kid;
    // The first three kills come before the rotation is confirmed, so the master key must still be the old one then.
    is(hasRotated, isOver || killed > 3, child.output());
    if (!hasRotated) continue;
    const alone = join(createTempDirectory().dir, 'master.key');
    copyFileSync(masterKeyFile, alone);
    equal(await secretsWith(alone), secrets);
    equal(keptIn(join(dir, 'store'), oldWraps), [], child.output());
    ok(keptIn(join(dir, 'store'), await wrapsIn(log)).length > 0);
  }
  ok(killed >= 15, `${killed} kills`);
  not(readdirSync(dir).includes('master.key.next'));
  console.log(`killed before each of ${killed} steps`);
  await log.close();
  await store.end();
});

test('no matter before which step a rotation of a data key is killed, the next worker completes it and creates no further key', async () => {
  const { dir } = createTempDirectory();
  const store = await startStore({ dir: join(dir, 'store') });
  const log = openLog(store.url);
  const databaseUrl = await freshDatabase();
  const masterKeyFile = join(dir, 'master.key');
  const vault = await openVault({ log, masterKeyFile });
  const place = openDirectoryPlace(join(dir, 'blobs'));
  const contents = [Buffer.from('one'), Buffer.from('two'), Buffer.alloc(600_000, 'three')];
  const files = openBlobStore(place, vault).of('acme');
  const digests = await Promise.all(contents.map(async (content) => (await files.put(content)).sha256));
  const record = openRotationRecord(log);
  const kidsOfFiles = (): string[] =>
    digests.map((sha256) => {
      const name = { tenant: 'acme', sha256 };
      return kidOfHeader(name, readFileSync(blobPath(join(dir, 'blobs'), name)));
    });

  let killed = 0;
  for (let isOver = false; !isOver; ) {
    const keys = await readWrappedKeys(log, 'acme', 'vault');
    const child = startProgram(process.execPath, [program, store.url, masterKeyFile, dir, String(killed + 1), 'acme']);
    const end = await child.ended;
    isOver = end === 0;
    if (!isOver) is(end, 'SIGKILL', child.output());
    if (!isOver) killed += 1;
    const isStarted = Object.keys((await record.load()).data_keys).length > 0;
    const config = { masterKeyFile, annalsData: dir };
    const parts = { log, databaseUrl, logger: silentLogger, config, intervalMs: 50 };
    const workerVault = createLazyVault(log, masterKeyFile);
    const worker = startWorker([rotations], { ...parts, vault: workerVault, blobPlace: async () => place });
    await waitUntil('the rotation is completed', record.load, ({ data_keys }) => Object.keys(data_keys).length === 0, 30);
    await worker.close();
    await workerVault.close();
    const after = await readWrappedKeys(log, 'acme', 'vault');
    is(after.length - keys.length, isStarted || isOver ? 1 : 0, child.output());
    equal(kidsOfFiles(), Array(3).fill(after.at(-1)!.kid), child.output());
    for (const [index, sha256] of digests.entries())
      ok(Buffer.concat(await Array.fromAsync((await files.get(sha256))!.content)).equals(contents[index]!));
  }
  is(killed, 6);
  await log.close();
  await store.end();
});

test.run();
