import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { openBlobBucket } from '../../infra/blobs/blob-bucket.ts';
import { type Bucket, parseBlobsUrl } from '../../infra/blobs/blob-location.ts';
import { type BlobStore, createBlobStore, withoutBlobStore } from '../../infra/blobs/blob-store.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { SLOW_DOWN, startS3Server } from '../fixtures/s3-server.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { skillArchive } from '../fixtures/zip-archive.ts';

const p = await createTestPlatform();

/** Uploads a skill archive while the platform uses `blobs` as its file store. */
const upload = async (blobs: BlobStore, name: string) => {
  Object.assign(p.blobs, blobs);
  const raw = formBody({ name: 'upload', filename: 'skill.zip', content: skillArchive(name) });
  const { status, headers, body } = await p.send('POST', `${p.tenant}/skills/import`, { raw, headers: { 'content-type': FORM_TYPE } });
  const { code, detail } = body as { code?: string; detail?: string };
  return { status, code, detail, retryAfter: headers.get('retry-after') };
};

const bucketStore = async () => {
  const server = await startS3Server();
  const location = parseBlobsUrl(server.url()) as Bucket & { kind: 'bucket' };
  const backend = openBlobBucket(location, { requestMs: 2_000, stallMs: 300, giveUpMs: 1_000 });
  return { server, blobs: createBlobStore({ backend, vault: p.vault, drafts: join(createTempDirectory().dir, 'drafts') }) };
};

test('an upload is stored in the bucket under its tenant and digest', async () => {
  const { server, blobs } = await bucketStore();
  assert.is((await upload(blobs, 'One')).status, 201);
  const { package_digest } = p.eventsOf('SkillImported').at(-1)!.data as { package_digest: string };
  assert.equal([...server.objects.keys()], [`${p.tenant_id}/${package_digest}`]);
});

test('while the object store is down or overloaded, an upload gets 503 and appends no event; later uploads succeed', async () => {
  const { server, blobs } = await bucketStore();
  const before = p.eventsOf('SkillImported').length;
  for (let n = 0; n < 5; n++) server.plan(({ method }) => method === 'PUT', SLOW_DOWN);
  const busy = { status: 503, code: 'unavailable', detail: 'The file store is overloaded: try again', retryAfter: '10' };
  assert.equal(await upload(blobs, 'Two'), busy);
  assert.is(p.eventsOf('SkillImported').length, before);
  assert.is((await upload(blobs, 'Two')).status, 201);
  await server.close();
  const down = { status: 503, code: 'unavailable', detail: 'The file store cannot be reached: try again', retryAfter: '5' };
  assert.equal(await upload(blobs, 'Three'), down);
  assert.is(p.eventsOf('SkillImported').length, before + 1);
});

test('without a file store, an upload gets 409 not_configured, and the response names the variable to set', async () => {
  const detail = 'This platform has no file store: its operator must set BLOBS_URL';
  assert.equal(await upload(withoutBlobStore, 'Four'), { status: 409, code: 'not_configured', detail, retryAfter: null });
});

afterLastTest(() => p.close());

test.run();
