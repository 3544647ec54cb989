import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Recorded, streamName } from '../../domain/event.ts';
import { secret } from '../../domain/secret.ts';
import { blobPath } from '../../infra/blobs/blob-directory.ts';
import { openBlobStore, openDirectoryPlace } from '../../infra/blobs/open-blob-store.ts';
import { kidOfHeader } from '../../infra/blobs/sealed-blob.ts';
import { continueDataKeyRotation, type DataKeyRotationParts, startDataKeyRotation } from '../../infra/rotation/rotate-data-key.ts';
import { openRotationRecord } from '../../infra/rotation/rotation-record.ts';
import type { BytesEvent, EventPlace } from '../../infra/vault/sealed-events.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { readWrappedKeys } from '../../infra/vault/wrapped-keys.ts';
import { waitUntil } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const actor = { kind: 'system', id: 'test' } as const;
const TENANT = 'acme';
const PLACE: EventPlace = { tenant: TENANT, category: 'delivery', id: 'd1' };
const LOCATION = { tenant: TENANT, category: 'integration', id: 'i1', field: 'secret' };

const failureOf = (work: () => Promise<unknown>): Promise<string> =>
  work().then(
    () => 'none',
    (error: Error) => error.message,
  );

const bytesOf = async (content: AsyncIterable<Uint8Array>): Promise<Buffer> => Buffer.concat(await Array.fromAsync(content));

/** A platform with a secret, an event and files of a tenant, and a file of another one. */
const given = async () => {
  const log = memoryLog();
  const dir = createTempDirectory().dir;
  const masterKeyFile = join(dir, 'master.key');
  const vault = await openVault({ log, masterKeyFile });
  const place = openDirectoryPlace(join(dir, 'blobs'));
  const blobs = openBlobStore(place, vault);
  const contents = [Buffer.alloc(0), Buffer.from('small'), randomBytes(700_000)];
  const digests = await Promise.all(contents.map(async (content) => (await blobs.of(TENANT).put(content)).sha256));
  const foreign = await blobs.of('other').put(Buffer.from('of another tenant'));
  const kidOfFile = (tenant: string, sha256: string): string =>
    kidOfHeader({ tenant, sha256 }, readFileSync(blobPath(join(dir, 'blobs'), { tenant, sha256 })));
  const record = openRotationRecord(log);
  const parts: DataKeyRotationParts = { record, masterKeyFile, vault, blobs: place, actor };
  const rotate = async (more: Partial<DataKeyRotationParts> = {}, tenant = TENANT) => {
    const kid = await startDataKeyRotation({ ...parts, ...more }, tenant);
    return { kid, files: await continueDataKeyRotation({ ...parts, ...more }, tenant, kid) };
  };
  const filesIn = async (): Promise<Buffer[]> =>
    Promise.all(digests.map(async (sha256) => bytesOf((await blobs.of(TENANT).get(sha256))!.content)));
  return { log, dir, masterKeyFile, vault, place, blobs, contents, digests, foreign, kidOfFile, record, parts, rotate, filesIn };
};

const eventOf = (text: string): BytesEvent => ({
  id: randomUUID(),
  type: 'WebhookAccepted',
  data: Buffer.from(text),
  meta: { tenant: TENANT, actor, at: '2026-11-22T10:00:00.000Z', v: 1, facts: {} },
});

const recorded = ({ id: event_id, type, data, meta }: BytesEvent): Recorded => ({
  ...PLACE,
  type,
  data,
  event_id,
  stream: streamName(PLACE.category, PLACE.tenant, PLACE.id),
  revision: 0,
  position: { commit: 1n, prepare: 1n },
  at: meta.at,
  actor,
  meta,
});

const kidOfEvent = ({ meta }: BytesEvent): unknown => (meta.facts!.sealed as { kid: string }).kid;

test('after a rotation, new contents use the new key; what was sealed before stays readable; files are sealed again', async () => {
  const p = await given();
  const [sealed, event] = [await p.vault.seal(LOCATION, secret('s')), await p.vault.sealEvent(PLACE, eventOf('body'))];
  const foreignKid = p.kidOfFile('other', p.foreign.sha256);
  const { kid, files } = await p.rotate();
  assert.is(files, 3);
  for (const vault of [p.vault, await openVault({ log: p.log, masterKeyFile: p.masterKeyFile })]) {
    assert.is((await vault.open(LOCATION, sealed)).reveal(), 's');
    assert.is(Buffer.from((await vault.openEvent(recorded(event))).data as Uint8Array).toString(), 'body');
    assert.match(await vault.seal(LOCATION, secret('s')), new RegExp(`^v1\\.${kid}\\.`));
    assert.is(kidOfEvent(await vault.sealEvent(PLACE, eventOf('new'))), kid);
  }
  assert.equal(await p.filesIn(), p.contents);
  for (const sha256 of p.digests) assert.is(p.kidOfFile(TENANT, sha256), kid);
  assert.is(p.kidOfFile('other', p.foreign.sha256), foreignKid);
  assert.is((await readWrappedKeys(p.log, TENANT, 'vault')).length, 2);
  assert.equal((await p.record.load()).data_keys, {});
});

test('another process that runs uses the new key within a second, without a restart', async () => {
  const p = await given();
  const other = await openVault({ log: p.log, masterKeyFile: p.masterKeyFile });
  await other.sealEvent(PLACE, eventOf('before'));
  const changes = await other.watchKeys();
  const { kid } = await p.rotate();
  await waitUntil(
    'the new key is used',
    async () => [kidOfEvent(await other.sealEvent(PLACE, eventOf('x'))), (await other.blobKey(TENANT)).kid],
    (kids) => kids.every((each) => each === kid),
    1,
  );
  await changes.stop();
});

test('while the log is down, a process that has not read the new key yet goes on with the one that it has', async () => {
  const p = await given();
  const other = await openVault({ log: p.log, masterKeyFile: p.masterKeyFile });
  const before = kidOfEvent(await other.sealEvent(PLACE, eventOf('before')));
  await p.rotate();
  const endOutage = p.log.outage();
  await other.refreshDataKeys(TENANT);
  assert.is(kidOfEvent(await other.sealEvent(PLACE, eventOf('during'))), before);
  endOutage();
});

test('a rotation that fails at any step is completed by the next run, with one new key', async () => {
  const p = await given();
  let total = Number.POSITIVE_INFINITY;
  for (let failing = 1; failing <= total; failing++) {
    const count = (await readWrappedKeys(p.log, TENANT, 'vault')).length;
    let steps = 0;
    const onStep = (): void => {
      if (++steps === failing) throw new Error('killed');
    };
    const failure = await failureOf(() => p.rotate({ onStep }));
    if (failure === 'none') total = steps;
    assert.equal(await p.filesIn(), p.contents);
    if (failure !== 'none') await p.rotate();
    const keys = await readWrappedKeys(p.log, TENANT, 'vault');
    assert.is(keys.length, count + 1);
    for (const sha256 of p.digests) assert.is(p.kidOfFile(TENANT, sha256), keys.at(-1)!.kid);
    assert.equal((await p.record.load()).data_keys, {});
  }
  assert.is(total, 5);
});

test('a file that is being read while it is sealed again is read to its end, byte for byte', async () => {
  const p = await given();
  const blob = (await p.blobs.of(TENANT).get(p.digests[2]!))!;
  const reader = blob.content[Symbol.asyncIterator]();
  const first = (await reader.next()).value as Uint8Array;
  const parts = [Buffer.from(first)];
  await p.rotate();
  await p.rotate();
  for (let next = await reader.next(); !next.done; next = await reader.next()) parts.push(Buffer.from(next.value));
  assert.ok(parts.length > 1);
  assert.ok(Buffer.concat(parts).equals(p.contents[2]!));
});

test('a damaged file is left as it is and named, and the others are sealed again', async () => {
  const p = await given();
  const path = blobPath(join(p.dir, 'blobs'), { tenant: TENANT, sha256: p.digests[1]! });
  const bytes = readFileSync(path);
  bytes[bytes.length - 1]! ^= 1;
  writeFileSync(path, bytes);
  const lines: string[] = [];
  assert.is((await p.rotate({ onProgress: (line) => lines.push(line) })).files, 2);
  assert.match(lines.join('\n'), new RegExp(`^left as it is: the content ${p.digests[1]} of tenant acme is damaged`));
  assert.equal(readFileSync(path), bytes);
});

test('a tenant without a data key is refused; one that is erased meanwhile is given up', async () => {
  const p = await given();
  assert.match(await failureOf(() => startDataKeyRotation(p.parts, 'nobody')), /^there is no data key of nobody/);
  const kid = await startDataKeyRotation(p.parts, TENANT);
  await p.vault.destroyDataKeys(TENANT);
  assert.is(await continueDataKeyRotation(p.parts, TENANT, kid), null);
  assert.equal((await p.record.load()).data_keys, {});
  assert.match(await failureOf(() => startDataKeyRotation(p.parts, TENANT)), /tombstoned/);
});

test.run();
