import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import * as assert from 'uvu/assert';
import type { Blobs } from '../../commands/blobs.ts';
import { Refusal } from '../../domain/refusal.ts';
import { withoutBlobStore } from '../../infra/blobs/blob-store.ts';
import { resealTenantBlobs } from '../../infra/blobs/reseal-blobs.ts';
import { openMasterKeys } from '../../infra/vault/master-keys.ts';
import { addDataKey } from '../../infra/vault/wrapped-keys.ts';
import { repeatIfBusy } from '../fixtures/load-factor.ts';
import { SLOW_DOWN, startS3Server } from '../fixtures/s3-server.ts';
import { openTestBucket, sha256Of } from '../fixtures/test-bucket.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const MIB = 1_024 * 1_024;

const readAll = async (blobs: Blobs, sha256: string): Promise<Buffer> => {
  const blob = await blobs.get(sha256);
  assert.ok(blob);
  return Buffer.concat(await Array.fromAsync(blob.content));
};

const refusalOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, Refusal);
  return (error as Refusal).code;
};

const allUses = (blobs: Blobs): (() => Promise<unknown>)[] => [
  () => blobs.put(Buffer.from('content')),
  () => blobs.get('0'.repeat(64)),
  () => blobs.exists('0'.repeat(64)),
];

for (const [what, size] of [
  ['an empty content', 0],
  ['a content of one byte', 1],
  ['a content that is sent in three parts', 20 * MIB + 5],
] as const)
  test(`reading ${what} from a bucket returns the stored bytes`, async () => {
    const server = await startS3Server();
    const { acme, drafts } = await openTestBucket(server);
    const bytes = randomBytes(size);
    const { sha256 } = await acme.put(bytes);
    assert.is(sha256, sha256Of(bytes));
    assert.equal([...server.objects.keys()], [`files/acme/${sha256}`]);
    assert.is(await acme.exists(sha256), true);
    assert.ok((await readAll(acme, sha256)).equals(bytes));
    assert.is(server.uploads.size, 0);
    assert.equal(readdirSync(drafts), []);
    assert.is(server.objects.get(`files/acme/${sha256}`)!.etag.endsWith('-3"'), size > 8 * MIB);
  });

test('reading a content that the bucket does not contain fails with the error not found', async () => {
  const { acme } = await openTestBucket(await startS3Server());
  assert.is(await acme.exists('0'.repeat(64)), false);
  assert.is(await acme.get('0'.repeat(64)), null);
});

test('if ten puts store the same content in parts at the same time, the bucket afterwards contains one intact object', async () => {
  const bytes = randomBytes(9 * MIB);
  const putTen = async () => {
    const server = await startS3Server();
    const { acme } = await openTestBucket(server);
    return { server, acme, stored: await Promise.all(Array.from({ length: 10 }, () => acme.put(bytes))) };
  };
  let done: Awaited<ReturnType<typeof putTen>> | undefined;
  // On a busy machine, a put can exceed its time limit, or begin an upload a second time because the response came too late.
  await repeatIfBusy(async () => {
    done = await putTen();
    assert.is(done.server.uploads.size, 0);
  });
  const { server, acme, stored } = done!;
  assert.is(server.objects.size, 1);
  assert.ok((await readAll(acme, stored[0]!.sha256)).equals(bytes));
});

test('storing a content again uploads it only if the stored one is so old that it could be removed as an orphan; a recent one is not uploaded again', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  const { sha256 } = await acme.put(Buffer.from('content'));
  const object = server.objects.get(`files/acme/${sha256}`)!;
  await acme.put(Buffer.from('content'));
  assert.is(server.objects.get(`files/acme/${sha256}`), object);
  object.modified -= 3_600_000;
  await acme.put(Buffer.from('content'));
  assert.ok(server.objects.get(`files/acme/${sha256}`)!.modified > Date.now() - 60_000);
});

test('a request to which the object store responds with 503 SlowDown is sent again', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  for (const method of ['HEAD', 'PUT', 'GET']) for (let n = 0; n < 2; n++) server.plan((call) => call.method === method, SLOW_DOWN);
  const { sha256 } = await acme.put(Buffer.from('content'));
  assert.is((await readAll(acme, sha256)).toString(), 'content');
});

test('a request is sent again if the object store does not respond within the time limit', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  for (const method of ['HEAD', 'PUT']) server.plan((call) => call.method === method, { kind: 'no-answer' });
  const { sha256 } = await acme.put(Buffer.from('content'));
  assert.is((await readAll(acme, sha256)).toString(), 'content');
});

test('if the object store keeps responding SlowDown, the operation fails with the refusal unavailable', async () => {
  const server = await startS3Server();
  const { acme, causes, drafts } = await openTestBucket(server);
  for (let n = 0; n < 10; n++) server.plan(({ method }) => method === 'PUT', SLOW_DOWN);
  assert.is(await refusalOf(acme.put(Buffer.from('content'))), 'unavailable');
  assert.match(causes[0]!.message, /SlowDown/);
  assert.equal(readdirSync(drafts), []);
});

test('if nothing listens at the address of the object store, every operation fails with the refusal unavailable', async () => {
  const server = await startS3Server();
  const { acme, causes } = await openTestBucket(server);
  await server.close();
  for (const work of allUses(acme)) assert.is(await refusalOf(work()), 'unavailable');
  assert.match(causes[0]!.message, /cannot be reached: ECONNREFUSED/);
});

test('with wrong credentials, operations fail with the refusal unavailable, whose cause contains the error code of the object store but no secret', async () => {
  const server = await startS3Server();
  const { acme, causes } = await openTestBucket(server, server.url().replace('wJalr', 'wrong'));
  assert.is(await refusalOf(acme.get('0'.repeat(64))), 'unavailable');
  assert.match(causes[0]!.message, /SignatureDoesNotMatch/);
  assert.not.match(JSON.stringify(causes[0]), /wrong/);
});

test('if the connection breaks while the body of an upload is sent, the upload is repeated', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  server.plan(({ method, query }) => method === 'PUT' && query.get('partNumber') === '2', { kind: 'cut-request' });
  const bytes = randomBytes(17 * MIB);
  const { sha256 } = await acme.put(bytes);
  assert.ok((await readAll(acme, sha256)).equals(bytes));
});

test('a put succeeds even if the response of the object store to the last request of the put is lost', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  const [small, large] = [randomBytes(1_000), randomBytes(9 * MIB)];
  server.plan(({ method, query }) => method === 'PUT' && !query.has('partNumber'), { kind: 'lose-answer' });
  server.plan(({ method, query }) => method === 'POST' && query.has('uploadId'), { kind: 'lose-answer' });
  for (const bytes of [small, large]) assert.ok((await readAll(acme, (await acme.put(bytes)).sha256)).equals(bytes));
  assert.is(server.uploads.size, 0);
});

test('the request that completes an upload is sent again if the object store responds with status 200 but an error in the body', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  const body = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>InternalError</Code><Message>Try again.</Message></Error>';
  server.plan(({ method, query }) => method === 'POST' && query.has('uploadId'), { kind: 'replace-answer', answer: { status: 200, body } });
  const bytes = randomBytes(9 * MIB);
  const { sha256 } = await acme.put(bytes);
  assert.ok((await readAll(acme, sha256)).equals(bytes));
});

test('if an upload fails, it is aborted at the object store, so that its parts take no space in the bucket', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  const denied = { kind: 'refuse', status: 403, code: 'AccessDenied', message: 'Access Denied' } as const;
  server.plan(({ query }) => query.get('partNumber') === '2', denied);
  assert.is(await refusalOf(acme.put(randomBytes(17 * MIB))), 'unavailable');
  assert.is(server.uploads.size, 0);
  assert.is(server.objects.size, 0);
});

test('if another process stores an object after a put has found no such object, the put does not replace that object', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  const { sha256 } = await acme.put(Buffer.from('content'));
  const object = server.objects.get(`files/acme/${sha256}`)!;
  server.plan(({ method }) => method === 'HEAD', { kind: 'replace-answer', answer: { status: 404 } });
  await acme.put(Buffer.from('content'));
  assert.is(server.objects.get(`files/acme/${sha256}`), object);
});

test('a content can be stored in an object store that does not support conditional writes', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  const refusal = { kind: 'refuse', status: 501, code: 'NotImplemented', message: 'A header is not implemented' } as const;
  server.plan(({ headers }) => headers['if-none-match'] === '*', refusal);
  const { sha256 } = await acme.put(Buffer.from('content'));
  assert.is((await readAll(acme, sha256)).toString(), 'content');
});

for (const kind of ['cut-answer', 'stall-answer'] as const)
  test(`a read continues at the next byte if the answer of the object store ${kind === 'cut-answer' ? 'breaks off' : 'stalls'}`, async () => {
    const server = await startS3Server();
    const { acme } = await openTestBucket(server);
    const bytes = randomBytes(3 * MIB);
    const { sha256 } = await acme.put(bytes);
    const isRest = (call: { method: string; headers: Readonly<Record<string, string | undefined>> }) =>
      call.method === 'GET' && call.headers['if-match'] !== undefined;
    server.plan(isRest, { kind, bytes: 700_001 });
    server.plan(isRest, { kind, bytes: 900_001 });
    assert.ok((await readAll(acme, sha256)).equals(bytes));
    assert.ok(server.calls.filter(isRest).length >= 3);
  });

test('if an object is encrypted again with a new data key while it is read, the read continues at the next byte', async () => {
  const server = await startS3Server();
  const { acme, backend, drafts, vault, log, masterKeyFile } = await openTestBucket(server);
  const bytes = randomBytes(3 * MIB);
  const { sha256 } = await acme.put(bytes);
  const blob = (await acme.get(sha256))!;
  const before = server.objects.get(`files/acme/${sha256}`)!.etag;
  await addDataKey(log, await openMasterKeys(masterKeyFile, false), 'acme', 'second');
  await vault.refreshDataKeys('acme');
  const listed: (string | undefined)[] = [];
  const list: typeof backend.list = (tenant) => {
    listed.push(tenant);
    return backend.list(tenant);
  };
  assert.is(await resealTenantBlobs({ backend: { ...backend, list }, drafts, vault }, 'acme'), 1);
  assert.equal(listed, ['acme'], 'only the files of the tenant are listed');
  assert.is.not(server.objects.get(`files/acme/${sha256}`)!.etag, before);
  assert.ok(Buffer.concat(await Array.fromAsync(blob.content)).equals(bytes));
  assert.ok((await readAll(acme, sha256)).equals(bytes));
  assert.is(await resealTenantBlobs({ backend, drafts, vault }, 'acme'), 0);
});

test('if an object is replaced by another content while it is read, the read fails and returns no wrong byte', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  const bytes = randomBytes(3 * MIB);
  const { sha256 } = await acme.put(bytes);
  const other = await acme.put(randomBytes(3 * MIB));
  const blob = (await acme.get(sha256))!;
  server.objects.set(`files/acme/${sha256}`, server.objects.get(`files/acme/${other.sha256}`)!);
  const read: Uint8Array[] = [];
  const readPieces = async (): Promise<void> => {
    for await (const piece of blob.content) read.push(piece);
  };
  const error = await readPieces().then(
    () => null,
    (thrown: Error) => thrown,
  );
  assert.is(error?.name, 'BlobDamaged');
  const yielded = Buffer.concat(read);
  assert.ok(bytes.subarray(0, yielded.length).equals(yielded));
});

test('if an object is replaced at every attempt to read it, the read fails with the refusal unavailable', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  const { sha256 } = await acme.put(randomBytes(3 * MIB));
  const blob = (await acme.get(sha256))!;
  const name = `files/acme/${sha256}`;
  let reads = 0;
  const object = { ...server.objects.get(name)! };
  server.objects.set(name, Object.defineProperty(object, 'etag', { get: () => `"${reads++}"` }));
  assert.is(await refusalOf(Array.fromAsync(blob.content)), 'unavailable');
  assert.ok(reads >= 6, `${reads} reads`);
});

test('reading a content fails if the object in the bucket was changed', async () => {
  const server = await startS3Server();
  const { acme } = await openTestBucket(server);
  const { sha256 } = await acme.put(randomBytes(MIB));
  server.objects.get(`files/acme/${sha256}`)!.body[600_000]! ^= 1;
  const error = await readAll(acme, sha256).then(
    () => null,
    (thrown: Error) => thrown,
  );
  assert.is(error?.name, 'BlobDamaged');
});

test('without BLOBS_URL, every operation of the file store fails with the refusal not_configured', async () => {
  const blobs = withoutBlobStore.of('acme');
  for (const work of allUses(blobs)) assert.is(await refusalOf(work()), 'not_configured');
});

test.run();
