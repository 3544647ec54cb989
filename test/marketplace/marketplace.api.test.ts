// share
import { hash } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, type FormPart, formBody } from '../fixtures/form-body.ts';
import { hostileArchives } from '../fixtures/hostile-archives.ts';
import { openShare } from '../fixtures/share.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';
import { skillArchive, zipArchive } from '../fixtures/zip-archive.ts';

const share = openShare();
const p = await createTestPlatform();
const buyer = await createSecondTenant(p, 'buyer');
type Json = Record<string, unknown>;
const FIELDS = { name: 'PDF forms', summary: 'Fills in forms', description: 'Fills in PDF forms.' };
let count = 0;

const offer = async (slug = `listing-${count++}`): Promise<Json> => {
  const { status, body, text } = await p.send('POST', `${p.tenant}/marketplace/listings`, { body: { ...FIELDS, slug } });
  assert.is(status, 201, text);
  return body as Json;
};
const publish = (id: unknown, version: string, bundle: Uint8Array = skillArchive(), headers = {}, more: readonly FormPart[] = []) =>
  p.send('POST', `${p.tenant}/marketplace/listings/${id}/versions`, {
    raw: formBody({ name: 'bundle', filename: 'a.zip', content: bundle }, { name: 'version', content: version }, ...more),
    headers: { 'content-type': FORM_TYPE, ...headers },
  });
const yank = (id: unknown, version: string) =>
  p.send('POST', `${p.tenant}/marketplace/listings/${id}/versions/${version}/yank`, { body: { reason: 'It loses data' } });
const install = (body: object, headers = {}) => p.send('POST', `${buyer.tenant}/marketplace/install`, { key: buyer.key, body, headers });
const read = async (slug: unknown) => (await p.send('GET', `/marketplace/${slug}`, { key: buyer.key })).body as Json;
const codeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { errors?: { code: string }[]; code: string }).errors?.[0]?.code ?? (body as { code: string }).code,
];
const named = (name: string) => skillArchive(name);

test('a new listing is visible to all tenants, and its slug is unique on the platform', async () => {
  const listing = await offer('pdf-forms');
  const { id, created_at, updated_at, ...rest } = listing;
  assert.equal(rest, { ...FIELDS, slug: 'pdf-forms', kind: 'skill', tenant_id: p.tenant_id, latest_version: null, installs: 0 });
  assert.ok(id && created_at && updated_at);
  assert.equal(await read('pdf-forms'), listing);
  const list = (await p.send('GET', '/marketplace?limit=200', { key: buyer.key })).body as Json[];
  assert.ok(list.some((one) => one.id === id));
  const taken = await p.send('POST', `${buyer.tenant}/marketplace/listings`, { key: buyer.key, body: { ...FIELDS, slug: 'pdf-forms' } });
  assert.equal(codeOf(taken), [409, 'taken']);
  assert.is((await p.send('GET', '/marketplace/unknown')).status, 404);
  assert.is((await p.send('GET', '/marketplace', { key: '' })).status, 401);
});

test('a published version has the SHA-256 and the size of its bundle, and becomes the latest version of the listing', async () => {
  const { id, slug } = await offer();
  const bundle = skillArchive();
  const { status, body, text } = await publish(id, '1.0.0', bundle);
  assert.is(status, 201, text);
  const { created_at, ...rest } = body as Json;
  assert.equal(rest, { version: '1.0.0', sha256: hash('sha256', bundle, 'hex'), size_bytes: bundle.length, yanked: false });
  assert.ok(created_at);
  assert.is((await read(slug)).latest_version, '1.0.0');
});

test('publishing an existing version again gets 409, with the same or another bundle, even if the version was yanked', async () => {
  const { id } = await offer();
  await publish(id, '1.0.0');
  assert.equal(codeOf(await publish(id, '1.0.0')), [409, 'version_exists']);
  assert.equal(codeOf(await publish(id, '1.0.0', named('other'))), [409, 'version_exists']);
  await yank(id, '1.0.0');
  assert.equal(codeOf(await publish(id, '1.0.0')), [409, 'version_exists']);
  assert.is((await publish(id, 'constructor')).status, 201, 'names of built-in properties are ordinary versions');
});

test('a repeated publication with the same Idempotency-Key returns the first version; another version or bundle with the same key gets 422', async () => {
  const { id } = await offer();
  const headers = { 'idempotency-key': `publish-${id}` };
  const bundle = skillArchive();
  const first = await publish(id, '1', bundle, headers);
  assert.equal((await publish(id, '1', bundle, headers)).body, first.body);
  assert.is((await publish(id, '2', bundle, headers)).status, 422);
});

test('publishing is refused if the bundle is not an archive of a skill, the version is malformed, or fields are unknown or missing', async () => {
  const { id } = await offer();
  assert.is((await publish(id, '1', Buffer.from('no archive'))).status, 422);
  assert.equal(codeOf(await publish(id, '1', zipArchive([{ name: 'a', content: 'x' }]))), [422, 'no_manifest']);
  for (const version of ['', '-1', 'a b', 'x'.repeat(65), '../1']) assert.is((await publish(id, version)).status, 422, version);
  assert.equal(codeOf(await publish(id, '1', skillArchive(), {}, [{ name: 'more', content: 'x' }])), [422, 'unknown_field']);
  assert.is((await publish(id, '1', Buffer.alloc(10 * 1024 * 1024 + 1))).status, 413);
});

share.test('publishing a hostile archive is refused with the code of the rule that the archive breaks, and appends no event', async () => {
  const { id, slug } = await offer();
  const events = p.log.events.length;
  const hostile = share.casesOf(
    hostileArchives(),
    ([fault]) => fault,
    ([, code]) => code,
  );
  for (const [fault, code, archive] of hostile) {
    const { status, body } = await publish(id, '1.0.0', archive);
    const [error] = (body as { errors: Json[] }).errors;
    assert.equal([status, error!.pointer, error!.code], [422, '/bundle', code], fault);
  }
  assert.is(p.log.events.length, events);
  assert.is((await read(slug)).latest_version, null);
});

test('only the tenant of a listing can publish and yank its versions; requests of other tenants get 404', async () => {
  const { id } = await offer();
  await publish(id, '1');
  const path = `${buyer.tenant}/marketplace/listings/${id}/versions`;
  const raw = formBody({ name: 'bundle', filename: 'a', content: skillArchive() }, { name: 'version', content: '2' });
  assert.is((await p.send('POST', path, { key: buyer.key, raw, headers: { 'content-type': FORM_TYPE } })).status, 404);
  assert.is((await p.send('POST', `${path}/1/yank`, { key: buyer.key, body: { reason: 'x' } })).status, 404);
  assert.is((await yank(id, '9')).status, 404);
  const { key } = await addMember(p, 'MEMBER');
  assert.is((await p.send('POST', `${p.tenant}/marketplace/listings`, { key, body: { ...FIELDS, slug: 'x' } })).status, 403);
});

test('installing a listing in another tenant creates a private skill that names its origin, and counts the installation', async () => {
  const { id, slug } = await offer();
  const bundle = named('installed-skill');
  await publish(id, '1.0.0', bundle);
  const { status, body, text } = await install({ listing_id: id });
  assert.is(status, 201, text);
  const skill = body as Json;
  const sha256 = hash('sha256', bundle, 'hex');
  assert.equal(
    [skill.source, skill.visibility, skill.tenant_id, skill.package_digest, skill.listing_id, skill.listing_version],
    ['installed', 'private', buyer.id, sha256, id, '1.0.0'],
  );
  assert.equal((await p.send('GET', `${buyer.tenant}/skills/${skill.id}`, { key: buyer.key })).body, body);
  assert.is((await read(slug)).installs, 1);
  assert.ok(await p.blobs.of(buyer.id).exists(sha256), 'the tenant has its own copy of the bundle');
  assert.equal(codeOf(await install({ listing_id: id })), [409, 'taken']);
});

test('if an installation names an agent, that agent gets the skill; if the agent belongs to another tenant, the request gets 404 and installs nothing', async () => {
  const { id } = await offer();
  await publish(id, '1', named('for-an-agent'));
  const agent = (await p.send('POST', `${buyer.tenant}/agents`, { key: buyer.key, body: { name: 'A', slug: 'a' } })).body as Json;
  const foreign = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'B', slug: 'b' } })).body as Json;
  const events = p.eventsOf('SkillInstalled').length;
  assert.is((await install({ listing_id: id, agent_id: foreign.id })).status, 404);
  assert.is(p.eventsOf('SkillInstalled').length, events);
  const headers = { 'idempotency-key': 'install-1' };
  const first = await install({ listing_id: id, agent_id: agent.id }, headers);
  assert.equal((await install({ listing_id: id, agent_id: agent.id }, headers)).body, first.body);
  const granted = (await p.send('GET', `${buyer.tenant}/agents/${agent.id}/skills`, { key: buyer.key })).body as Json[];
  assert.equal(
    granted.map(({ skill_id }) => skill_id),
    [(first.body as Json).id],
  );
});

test('a yanked version can no longer be installed; the newest remaining version becomes the latest one; skills that were installed keep their digest', async () => {
  const { id, slug } = await offer();
  await publish(id, '1', named('kept-skill'));
  await publish(id, '2', named('newer-skill'));
  const installed = (await install({ listing_id: id, version: '1' })).body as Json;
  assert.is((await yank(id, '2')).status, 200);
  assert.is((await read(slug)).latest_version, '1');
  assert.equal(codeOf(await install({ listing_id: id, version: '2' })), [409, 'yanked']);
  const again = await yank(id, '1');
  assert.equal([again.status, (again.body as Json).yanked], [200, true]);
  const count = p.log.events.length;
  assert.is((await yank(id, '1')).status, 200);
  assert.is(p.log.events.length, count, 'yanking again appends nothing');
  assert.equal(codeOf(await install({ listing_id: id })), [409, 'no_version']);
  assert.is((await install({ listing_id: id, version: '9' })).status, 404);
  const skill = (await p.send('GET', `${buyer.tenant}/skills/${installed.id}`, { key: buyer.key })).body as Json;
  assert.equal([skill.digest, skill.package_digest], [installed.digest, installed.package_digest]);
});

test('the list of the marketplace can be searched by name, slug and summary, and restricted to one publisher', async () => {
  const found = async (query: string) =>
    ((await p.send('GET', `/marketplace?${query}`, { key: buyer.key })).body as Json[]).map(({ slug }) => slug);
  const { slug } = await offer('needle-in-the-slug');
  const summary = { ...FIELDS, slug: 'of-the-buyer', name: 'Another name', summary: 'A rare summary' };
  assert.is((await p.send('POST', `${buyer.tenant}/marketplace/listings`, { key: buyer.key, body: summary })).status, 201);
  assert.equal([await found('q=NEEDLE-in'), await found('q=rare%20sum'), await found('q=nowhere')], [[slug], ['of-the-buyer'], []]);
  assert.equal(await found(`publisher=${buyer.id}`), ['of-the-buyer']);
  assert.ok(!(await found(`publisher=${p.tenant_id}&limit=200`)).includes('of-the-buyer'));
  assert.equal([await found(`publisher=${buyer.id}&q=rare`), await found('publisher=nobody')], [['of-the-buyer'], []]);
});

afterLastTest(() => p.close());

test.run();
