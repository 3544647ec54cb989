import * as assert from 'uvu/assert';
import { removeTenantBlobs } from '../../infra/blobs/remove-tenant-blobs.ts';
import { startS3Server } from '../fixtures/s3-server.ts';
import { openTestBucket, sha256Of } from '../fixtures/test-bucket.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

test('listing a bucket returns exactly the stored contents, even if the object store sends the list in pages', async () => {
  const server = await startS3Server({ pageSize: 100 });
  const { backend } = await openTestBucket(server);
  const object = { body: Buffer.from('x'), etag: '"e"', modified: Date.now() };
  const digests = Array.from({ length: 234 }, (_, n) => sha256Of(Buffer.from(String(n))));
  for (const digest of digests) server.objects.set(`files/acme/${digest}`, object);
  for (const key of ['files/readme.txt', `elsewhere/acme/${digests[0]}`, `files/acme/${digests[0]}.old`]) server.objects.set(key, object);
  const entries = await Array.fromAsync(backend.list());
  assert.equal(entries.map(({ sha256 }) => sha256).sort(), [...digests].sort());
  assert.equal([...new Set(entries.map(({ tenant, sealedSize, version }) => `${tenant} ${sealedSize} ${version}`))], ['acme 1 "e"']);
});

test('removing the files of a tenant lists and removes only files of that tenant', async () => {
  const server = await startS3Server({ pageSize: 100 });
  const { backend } = await openTestBucket(server);
  const object = { body: Buffer.from('x'), etag: '"e"', modified: Date.now() };
  const digests = Array.from({ length: 150 }, (_, n) => sha256Of(Buffer.from(String(n))));
  for (const digest of digests) for (const tenant of ['acme', 'acme2']) server.objects.set(`files/${tenant}/${digest}`, object);
  assert.is(await removeTenantBlobs(backend, 'acme'), digests.length);
  assert.equal([...server.objects.keys()].sort(), digests.map((digest) => `files/acme2/${digest}`).sort());
  assert.is(await removeTenantBlobs(backend, 'acme'), 0);
});

test('an object that was stored again after the listing is not removed', async () => {
  const server = await startS3Server();
  const { acme, backend } = await openTestBucket(server);
  const { sha256 } = await acme.put(Buffer.from('content'));
  const [entry] = await Array.fromAsync(backend.list());
  assert.is(await backend.remove({ ...entry!, version: '"older"' }), false);
  assert.is(await acme.exists(sha256), true);
  assert.is(await backend.remove(entry!), true);
  assert.is(await acme.exists(sha256), false);
  assert.is(await backend.remove(entry!), false);
});

test('an object that is replaced after it was checked and before it is removed is not removed', async () => {
  const server = await startS3Server();
  const { acme, backend } = await openTestBucket(server);
  const { sha256 } = await acme.put(Buffer.from('content'));
  const [entry] = await Array.fromAsync(backend.list());
  const object = server.objects.get(`files/acme/${sha256}`)!;
  server.plan(({ method }) => method === 'HEAD', { kind: 'replace-answer', answer: { status: 200, headers: { etag: object.etag } } });
  server.objects.set(`files/acme/${sha256}`, { ...object, etag: '"newer"' });
  assert.is(await backend.remove(entry!), false);
  assert.is(server.objects.size, 1);
});

test('incomplete uploads that started before the given time are aborted, and later ones are kept', async () => {
  const server = await startS3Server({ pageSize: 100 });
  const { backend } = await openTestBucket(server);
  const key = `files/acme/${'0'.repeat(64)}`;
  const now = Date.now();
  for (let n = 0; n < 150; n++) server.uploads.set(`old-${n}`, { key, initiated: now - 10_000, parts: new Map() });
  server.uploads.set('new', { key, initiated: now, parts: new Map() });
  server.uploads.set('foreign', { key: 'elsewhere/x', initiated: now - 10_000, parts: new Map() });
  assert.is(await backend.removeDrafts(now - 5_000, true), 150);
  assert.is(server.uploads.size, 152);
  assert.is(await backend.removeDrafts(now - 5_000, false), 150);
  assert.equal([...server.uploads.keys()], ['new', 'foreign']);
});

test('the check of a bucket writes, reads and removes a test object; if one of these fails, the check gives the reason', async () => {
  const server = await startS3Server();
  const { backend } = await openTestBucket(server);
  assert.is(await backend.check(), 'the bucket contents can be written, read and listed');
  assert.is(server.objects.size, 0);
  const other = await openTestBucket(server, server.url().replace('/contents', '/missing'));
  const error = await other.backend.check().then(
    () => null,
    (thrown: Error) => thrown,
  );
  assert.match(error!.message, /NoSuchBucket/);
});

test.run();
