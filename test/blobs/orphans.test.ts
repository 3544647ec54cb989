import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, renameSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { namedBlobs } from '../../domain/blob-references.ts';
import type { Recorded } from '../../domain/event.ts';
import { entryIdOf } from '../../domain/memory/entry-id.ts';
import { blobPath, openBlobDirectory } from '../../infra/blobs/blob-directory.ts';
import { removeOldDrafts, withDraft } from '../../infra/blobs/blob-drafts.ts';
import { createBlobStore } from '../../infra/blobs/blob-store.ts';
import { eventsThatKeepBlobs } from '../../infra/blobs/naming-events.ts';
import { findOrphans, removeOrphans } from '../../infra/blobs/orphans.ts';
import { verifyBlobs } from '../../infra/blobs/verify-blobs.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const HOUR_MS = 3_600_000;

const openTestStore = async () => {
  const { dir } = createTempDirectory();
  const log = memoryLog();
  const vault = await openVault({ log, masterKeyFile: join(dir, 'master.key') });
  const root = join(dir, 'blobs');
  const backend = openBlobDirectory(root);
  const drafts = join(root, 'drafts');
  const blobs = createBlobStore({ backend, vault, drafts });
  const acme = blobs.of('acme');
  const pathOf = (sha256: string, tenant = 'acme'): string => blobPath(root, { tenant, sha256 });
  /** Changes the times of a stored file so that it seems to have been stored `hours` hours ago. */
  const age = (sha256: string, hours: number, tenant = 'acme'): void => {
    const at = new Date(Date.now() - hours * HOUR_MS);
    utimesSync(pathOf(sha256, tenant), at, at);
  };
  const append = (data: object, tenant = 'acme', type = 'SkillImported') =>
    log.append(`skill-${tenant}.${randomUUID().replaceAll('-', '')}`, 'none', [
      { id: randomUUID(), type, data, meta: { tenant, actor: { kind: 'user', id: 'u1' }, at: new Date().toISOString(), v: 1 } },
    ]);
  const orphansAfter = (hours: number) => findOrphans(backend, log, Date.now() - hours * HOUR_MS);
  return { log, blobs, acme, backend, drafts, root, pathOf, age, append, orphansAfter };
};

const put = async (store: Awaited<ReturnType<typeof openTestStore>>, hours: number, bytes = randomBytes(100)): Promise<string> => {
  const { sha256 } = await store.acme.put(bytes);
  store.age(sha256, hours);
  return sha256;
};

test('a stored content is an orphan if no event names it and the grace period is over', async () => {
  const store = await openTestStore();
  const [named, orphan, recent] = [await put(store, 30), await put(store, 30), await put(store, 23)];
  await store.append({ package_digest: named });
  const { total, orphans } = await store.orphansAfter(24);
  assert.is(total.count, 3);
  assert.equal(
    orphans.map(({ sha256 }) => sha256),
    [orphan],
  );
  assert.is((await removeOrphans(store.backend, orphans)).count, 1);
  assert.equal([await store.acme.exists(named), await store.acme.exists(orphan), await store.acme.exists(recent)], [true, false, true]);
});

test('a content is kept if any event contains its digest, even in a nested field, in another tenant or in an event of an unknown type', async () => {
  const store = await openTestStore();
  const digests = [await put(store, 30), await put(store, 30), await put(store, 30)];
  await store.append({ files: [{ deep: { sha256: digests[0] } }] });
  await store.append({ digest: digests[1] }, 'other');
  await store.append({ text: `see sha256:${digests[2]}.` }, 'acme', 'SomethingNew');
  assert.equal((await store.orphansAfter(24)).orphans, []);
});

test('contents of tenants that are not in the log are counted separately, and not reported as orphans', async () => {
  const store = await openTestStore();
  const sha256 = await put(store, 30);
  const { blobs } = await openTestStore();
  assert.is(await blobs.of('acme').exists(sha256), false);
  const elsewhere = memoryLog();
  const { foreign, orphans } = await findOrphans(store.backend, elsewhere, Date.now());
  assert.equal([foreign.count, orphans], [1, []]);
});

test('an orphan that is stored again after the search for orphans is not removed', async () => {
  const store = await openTestStore();
  const bytes = randomBytes(100);
  const sha256 = await put(store, 30, bytes);
  const { orphans } = await store.orphansAfter(24);
  await store.acme.put(bytes);
  assert.is((await removeOrphans(store.backend, orphans)).count, 0);
  assert.is(await store.acme.exists(sha256), true);
  assert.equal((await store.orphansAfter(24)).orphans, []);
});

test('if orphans are removed while the same content is stored, the content exists afterwards', async () => {
  const store = await openTestStore();
  const bytes = randomBytes(100);
  for (let round = 0; round < 100; round++) {
    const sha256 = await put(store, 30, bytes);
    const { orphans } = await store.orphansAfter(24);
    await Promise.all([removeOrphans(store.backend, orphans), store.acme.put(bytes)]);
    assert.is(await store.acme.exists(sha256), true, `round ${round}`);
    assert.ok(existsSync(store.pathOf(sha256)), `round ${round}`);
  }
});

/**
 * Appends the events of a memory import, which refer to two stored files by their digests. Returns the name of the
 * stream.
 */
const importMemory = async ({ log }: Awaited<ReturnType<typeof openTestStore>>, sha256: string, segment: string): Promise<string> => {
  const stream = `memoryimport-acme.${randomUUID().replaceAll('-', '')}`;
  const meta = { tenant: 'acme', actor: { kind: 'user', id: 'u1' } as const, at: new Date().toISOString(), v: 1 };
  await log.append(stream, 'none', [
    { id: randomUUID(), type: 'MemoryImportStarted', data: { sha256 }, meta },
    { id: randomUUID(), type: 'MemoryImported', data: { segments: [{ sha256: segment, entries: 1 }] }, meta },
  ]);
  return stream;
};

test('stored files to which only reverted memory imports refer are orphans; after their removal, verifying the stored files does not report them as missing', async () => {
  const store = await openTestStore();
  const [file, segment, shared] = [await put(store, 30), await put(store, 30), await put(store, 30)];
  const undone = [await importMemory(store, file, segment), await importMemory(store, file, shared)];
  await importMemory(store, shared, shared);
  assert.equal((await store.orphansAfter(24)).orphans, []);
  const meta = { tenant: 'acme', actor: { kind: 'user', id: 'u1' } as const, at: new Date().toISOString(), v: 1 };
  for (const stream of undone) await store.log.append(stream, 1, [{ id: randomUUID(), type: 'MemoryImportUndone', data: {}, meta }]);
  const { orphans } = await store.orphansAfter(24);
  assert.equal(orphans.map(({ sha256 }) => sha256).sort(), [file, segment].sort());
  await removeOrphans(store.backend, orphans);
  assert.equal(await verifyBlobs(store.blobs, store.log), { read: 1, bytes: 100, findings: [] });
});

test('stored texts of entries that were forgotten are orphans, and verifying the stored files leaves them out', async () => {
  const store = await openTestStore();
  const agent_id = 'c'.padEnd(25, 'a');
  const texts = [await put(store, 30), await put(store, 30), await put(store, 30), await put(store, 30)];
  const meta = { tenant: 'acme', actor: { kind: 'user', id: 'u1' } as const, at: new Date().toISOString(), v: 1 };
  const append = (revision: number, type: string, all: readonly object[]) =>
    store.log.append(
      `agentmemory-acme.${agent_id}`,
      revision < 0 ? 'none' : revision,
      all.map((data) => ({ id: randomUUID(), type, data, meta })),
    );
  const remembered = texts.map((sha256, n) => ({ agent_id, sha256, session_id: null, entry_id: entryIdOf(agent_id, n) }));
  await append(-1, 'MemoryRemembered', remembered);
  assert.equal((await store.orphansAfter(24)).orphans, []);
  const ranges = [{ first: entryIdOf(agent_id, 1), last: entryIdOf(agent_id, 2) }];
  await append(3, 'MemoryForgotten', [{ agent_id, entries: 2, ranges, since: null }]);
  const { orphans } = await store.orphansAfter(24);
  assert.equal(orphans.map(({ sha256 }) => sha256).sort(), texts.slice(1, 3).sort());
  await removeOrphans(store.backend, orphans);
  assert.equal(await verifyBlobs(store.blobs, store.log), { read: 2, bytes: 200, findings: [] });
});

test('while the log is read, only the blob references of memory events are kept in memory, and no snapshots', async () => {
  const log = memoryLog();
  const agent_id = 'c'.padEnd(25, 'a');
  const actor = { kind: 'user', id: 'u1' } as const;
  const meta = { tenant: 'acme', actor, at: new Date().toISOString(), v: 1, stateBefore: { version: 1, state: { runs: [1] } } };
  const remembered = { agent_id, sha256: 'a'.repeat(64), session_id: null, entry_id: entryIdOf(agent_id, 0) };
  const imported = { sha256: 'b'.repeat(64) };
  const ids = [randomUUID(), randomUUID()];
  await log.append(`agentmemory-acme.${agent_id}`, 'none', [{ id: ids[0]!, type: 'MemoryRemembered', data: remembered, meta }]);
  await log.append(`memoryimport-acme.${agent_id}`, 'none', [{ id: ids[1]!, type: 'MemoryImportStarted', data: imported, meta }]);
  assert.equal(await Array.fromAsync(eventsThatKeepBlobs(log)), [
    { event_id: ids[0], tenant: 'acme', type: 'MemoryRemembered', data: remembered, meta: {} },
    { event_id: ids[1], tenant: 'acme', type: 'MemoryImportStarted', data: imported, meta: {} },
  ]);
});

test('if the removal of orphans is killed, the next search for orphans undoes it; until then, the contents can still be read', async () => {
  const store = await openTestStore();
  const sha256 = await put(store, 30);
  await store.append({ package_digest: sha256 });
  renameSync(store.pathOf(sha256), `${store.pathOf(sha256)}.removing`);
  assert.is(await store.acme.exists(sha256), true);
  assert.is((await Array.fromAsync((await store.acme.get(sha256))!.content)).length, 1);
  assert.equal((await store.orphansAfter(24)).orphans, []);
  assert.ok(existsSync(store.pathOf(sha256)));
});

test('if the log cannot be read to the end, the search for orphans fails and returns no orphans', async () => {
  const store = await openTestStore();
  await put(store, 30);
  const end = store.log.outage();
  const error = await store.orphansAfter(24).then(
    () => null,
    (thrown: Error) => thrown,
  );
  end();
  assert.is(error?.name, 'LogError');
});

test('a dry run of the removal only counts old temporary files, and other runs remove them; recent temporary files are kept', async () => {
  const store = await openTestStore();
  const key = { kid: 'k', key: randomBytes(32) };
  const paths: string[] = [];
  const keep = async ({ path }: { path: string }): Promise<void> => {
    paths.push(path);
    renameSync(path, `${path}.kept`);
  };
  for (let n = 0; n < 2; n++) await withDraft(store.drafts, { key, tenant: 'acme', content: Buffer.from('x') }, keep);
  for (const path of paths) renameSync(`${path}.kept`, path);
  utimesSync(paths[0]!, 0, 0);
  const before = Date.now() - HOUR_MS;
  assert.is(await removeOldDrafts(store.drafts, before, true), 1);
  assert.is(await removeOldDrafts(store.drafts, before, false), 1);
  assert.equal(
    paths.map((path) => existsSync(path)),
    [false, true],
  );
});

test('the verification of stored files reports every content that an event names and that is missing or damaged', async () => {
  const store = await openTestStore();
  const [intact, damaged, missing] = [await put(store, 0), await put(store, 0), '0'.repeat(64)];
  for (const package_digest of [intact, intact, damaged, missing]) await store.append({ package_digest });
  renameSync(store.pathOf(intact), `${store.pathOf(damaged)}`);
  await store.acme.put(Buffer.from('another content'));
  const { read, findings } = await verifyBlobs(store.blobs, store.log);
  assert.is(read, 3);
  assert.equal(
    findings.map(({ sha256, problem }) => [sha256, problem]),
    [
      [intact, 'missing'],
      [damaged, 'damaged'],
      [missing, 'missing'],
    ],
  );
});

test('the event of an imported skill contains the digest of its archive', () => {
  const event = { type: 'SkillImported', data: { package_digest: 'd' } } as unknown as Recorded;
  assert.equal(namedBlobs(event), ['d']);
  assert.equal(namedBlobs({ ...event, type: 'SkillDeleted', data: {} }), []);
});

test.run();
