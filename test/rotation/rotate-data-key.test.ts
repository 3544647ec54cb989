import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Recorded, streamName } from '../../domain/event.ts';
import { secret } from '../../domain/secret.ts';
import { blobPath } from '../../infra/blobs/blob-directory.ts';
import { continueDataKeyRotation, startDataKeyRotation } from '../../infra/rotation/rotate-data-key.ts';
import type { BytesEvent, EventPlace } from '../../infra/vault/sealed-events.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { readWrappedKeys } from '../../infra/vault/wrapped-keys.ts';
import { actor, givenDataKey, TENANT } from '../fixtures/data-key-rotation.ts';
import { waitUntil } from '../fixtures/live-projections.ts';

const PLACE: EventPlace = { tenant: TENANT, category: 'delivery', id: 'd1' };
const LOCATION = { tenant: TENANT, category: 'integration', id: 'i1', field: 'secret' };

const failureOf = (work: () => Promise<unknown>): Promise<string> =>
  work().then(
    () => 'none',
    (error: Error) => error.message,
  );

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

test('after a data key rotation, new contents use the new key, earlier contents stay readable, and files are encrypted again', async () => {
  const p = await givenDataKey();
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

test('after a data key rotation, another running process uses the new key within a second, without a restart', async () => {
  const p = await givenDataKey();
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

test('while the log is down, a process that has not yet read the new data key uses the previous one', async () => {
  const p = await givenDataKey();
  const other = await openVault({ log: p.log, masterKeyFile: p.masterKeyFile });
  const before = kidOfEvent(await other.sealEvent(PLACE, eventOf('before')));
  await p.rotate();
  const endOutage = p.log.outage();
  await other.refreshDataKeys(TENANT);
  assert.is(kidOfEvent(await other.sealEvent(PLACE, eventOf('during'))), before);
  endOutage();
});

test('a rotation of a data key that fails at any step is completed by the next run, which creates no further key', async () => {
  const p = await givenDataKey();
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

test('a read of a file returns the whole file, byte for byte, even if a key rotation encrypts the file again meanwhile', async () => {
  const p = await givenDataKey();
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

test('a key rotation reports a damaged file without changing it, and encrypts the other files again', async () => {
  const p = await givenDataKey();
  const path = blobPath(join(p.dir, 'blobs'), { tenant: TENANT, sha256: p.digests[1]! });
  const bytes = readFileSync(path);
  bytes[bytes.length - 1]! ^= 1;
  writeFileSync(path, bytes);
  const lines: string[] = [];
  assert.is((await p.rotate({ onProgress: (line) => lines.push(line) })).files, 2);
  assert.match(lines.join('\n'), new RegExp(`^left as it is: the content ${p.digests[1]} of tenant acme is damaged`));
  assert.equal(readFileSync(path), bytes);
});

test('rotating the data key of a tenant that has none is refused; if the tenant is erased during the rotation, the rotation ends without a new key', async () => {
  const p = await givenDataKey();
  assert.match(await failureOf(() => startDataKeyRotation(p.parts, 'nobody')), /^there is no data key of nobody/);
  const kid = await startDataKeyRotation(p.parts, TENANT);
  await p.vault.destroyDataKeys(TENANT);
  assert.is(await continueDataKeyRotation(p.parts, TENANT, kid), null);
  assert.equal((await p.record.load()).data_keys, {});
  assert.match(await failureOf(() => startDataKeyRotation(p.parts, TENANT)), /tombstoned/);
});

test.run();
