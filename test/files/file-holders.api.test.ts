import { hash } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, type FormPart, formBody } from '../fixtures/form-body.ts';
import { createMemoryPlatform, fileOf, type Json } from '../fixtures/memory-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';
import { skillArchive } from '../fixtures/zip-archive.ts';

const { p, newAgent, memoryOf, post, imported } = await createMemoryPlatform();
const buyer = await createSecondTenant(p, 'buyer');
const member = await addMember(p, 'MEMBER');
const LISTING = { name: 'PDF forms', summary: 'Fills in forms', description: 'Fills in PDF forms.' };

const upload = (path: string, ...parts: FormPart[]) =>
  p.send('POST', path, { raw: formBody(...parts), headers: { 'content-type': FORM_TYPE } });
const digestOf = (content: string | Uint8Array): string => hash('sha256', content, 'hex');
const download = (content: string | Uint8Array, key = p.key, tenant = p.tenant) =>
  p.send('GET', `${tenant}/files/${digestOf(content)}`, { key });
const statusFor = async (content: string | Uint8Array, key = p.key, tenant = p.tenant): Promise<number> =>
  (await download(content, key, tenant)).status;

test('the archive of a skill can be read by anyone who may see the skill, until it is deleted, and never from another tenant', async () => {
  const archive = skillArchive('private-skill');
  const { body, status, text } = await upload(`${p.tenant}/skills/import`, { name: 'upload', filename: 'a.zip', content: archive });
  assert.is(status, 201, text);
  const { id, package_digest } = body as Json;
  assert.is(package_digest, digestOf(archive));
  const { headers, status: read } = await download(archive);
  assert.equal([read, headers.get('content-type')], [200, 'application/zip']);
  assert.match(headers.get('content-disposition')!, /^attachment; filename="private-skill.zip"/);
  assert.equal([await statusFor(archive, member.key), await statusFor(archive, buyer.key, buyer.tenant)], [404, 404]);
  assert.is(await statusFor(archive, buyer.key), 404, 'a key of another tenant');
  assert.is((await p.send('PATCH', `${p.tenant}/skills/${id}`, { body: { visibility: 'public' } })).status, 200);
  assert.is(await statusFor(archive, member.key), 200);
  assert.is((await p.send('DELETE', `${p.tenant}/skills/${id}`)).status, 204);
  assert.is(await statusFor(archive), 404);
});

test('a published bundle can be read in the tenant that offers it, and in a tenant that has installed it by anyone who may see the skill', async () => {
  const bundle = skillArchive('offered-skill');
  const { id } = (await p.send('POST', `${p.tenant}/marketplace/listings`, { body: { ...LISTING, slug: 'offered' } })).body as Json;
  const version = { name: 'version', content: '1.0.0' };
  const published = await upload(
    `${p.tenant}/marketplace/listings/${id}/versions`,
    { name: 'bundle', filename: 'a.zip', content: bundle },
    version,
  );
  assert.is(published.status, 201, published.text);
  const { headers, status } = await download(bundle, member.key);
  assert.equal([status, headers.get('content-type')], [200, 'application/zip']);
  assert.match(headers.get('content-disposition')!, /^attachment; filename="offered-1.0.0.zip"/);
  assert.is(await statusFor(bundle, buyer.key, buyer.tenant), 404);
  const installed = await p.send('POST', `${buyer.tenant}/marketplace/install`, { key: buyer.key, body: { listing_id: id } });
  assert.is(installed.status, 201, installed.text);
  assert.is(await statusFor(bundle, buyer.key, buyer.tenant), 200);
});

test('an imported file of a memory can be read by anyone who may see the agent, until the import is undone, and never from another tenant', async () => {
  const agent = await newAgent();
  const content = 'The release branch is cut every second Tuesday.';
  const id = await imported(agent, content, 'handbook.txt');
  const { headers, status, text } = await download(content);
  assert.equal([status, text, headers.get('content-type')], [200, content, 'text/plain; charset=utf-8']);
  assert.match(headers.get('content-disposition')!, /^attachment; filename="handbook.txt"/);
  assert.equal([await statusFor(content, member.key), await statusFor(content, buyer.key, buyer.tenant)], [404, 404]);
  const viewer = { body: { role: 'VIEWER' } };
  assert.ok((await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${member.user_id}`, viewer)).status < 300);
  assert.is(await statusFor(content, member.key), 200);
  assert.is((await p.send('DELETE', `${memoryOf(agent)}/imports/${id}`)).status, 204);
  assert.is(await statusFor(content), 404);
});

test('a file whose import has only started can be read already', async () => {
  const agent = await newAgent();
  assert.is((await post(agent, [fileOf('a note', 'a.txt')])).status, 202);
  assert.is(await statusFor('a note'), 200);
});

test('after these tests, the projections have applied every event', () => assert.equal(p.unappliedEvents(), []));

afterLastTest(() => p.close());

test.run();
