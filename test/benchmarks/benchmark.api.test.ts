import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { createDatasetClient } from '../../infra/benchmarks/dataset-client.ts';
import { createGuardedClient } from '../../infra/egress/guarded-client.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

const client = createGuardedClient();
const p = await createTestPlatform({ datasets: createDatasetClient(client) });
type Json = Record<string, unknown>;
const FIELDS = {
  display_name: 'Bug fixes',
  dataset_uri: 'https://example.com/bug-fixes.jsonl',
  evaluator_strategy: 'exact_match',
};
const DEFAULTS = {
  default_harness: 'claude_code',
  description: null,
  evaluator_config: {},
  is_active: true,
  read_only: false,
  trajectory_builder: 'prefix_merging',
  dataset_sha256: null,
};
let count = 0;
const create = (body: Json, key = p.key) => p.send('POST', '/benchmarks', { body, key });
const made = async (more: Json = {}): Promise<Json & { slug: string }> => {
  const { status, body, text } = await create({ ...FIELDS, slug: `benchmark-${count++}`, ...more });
  assert.is(status, 201, text);
  return body as Json & { slug: string };
};
const change = (slug: string, body: Json, headers = {}) => p.send('PATCH', `/benchmarks/${slug}`, { body, headers });
const retire = (slug: string) => p.send('DELETE', `/benchmarks/${slug}`);
const read = (slug: string, key = p.key) => p.send('GET', `/benchmarks/${slug}`, { key });
const codeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { errors?: { code: string }[]; code: string }).errors?.[0]?.code ?? (body as { code: string }).code,
];
const pointerOf = ({ body }: { body: unknown }) => (body as { errors: { pointer: string }[] }).errors[0]?.pointer;

test('a new benchmark has default values for the fields that are not given, and every member of a tenant may read it', async () => {
  const { id, created_at, updated_at, ...rest } = await made({ slug: 'bug-fixes' });
  assert.equal(rest, { ...FIELDS, ...DEFAULTS, slug: 'bug-fixes' });
  assert.ok(id && created_at && updated_at);
  const { key } = await addMember(p, 'MEMBER');
  const { status, body, headers } = await read('bug-fixes', key);
  assert.equal([status, body, headers.get('etag')], [200, { ...rest, id, created_at, updated_at }, '"0"']);
  const list = (await p.send('GET', '/benchmarks', { key })).body as Json[];
  assert.ok(list.some((one) => one.id === id));
});

test('every field of a benchmark can be set when it is created and by an update, and null resets a field to its default', async () => {
  const all = {
    default_harness: 'shell',
    description: 'Fixes of bugs',
    evaluator_config: { field: 'answer' },
    is_active: false,
    trajectory_builder: 'per_request',
  };
  const { slug, id, created_at, updated_at, ...rest } = await made(all);
  assert.equal(rest, { ...FIELDS, ...DEFAULTS, ...all });
  const nulls = Object.fromEntries([...Object.keys(FIELDS), ...Object.keys(all)].map((name) => [name, null]));
  const reset = await change(slug, nulls);
  assert.is(reset.status, 200, reset.text);
  const after = omit(reset.body as Json, 'updated_at');
  assert.equal(after, { ...FIELDS, ...DEFAULTS, slug, id, created_at });
  const changes = { ...all, display_name: 'Other', dataset_uri: 'https://example.org/other', evaluator_strategy: 'unit_tests' };
  const changed = (await change(slug, changes)).body as Json;
  assert.equal(omit(changed, 'updated_at'), { ...DEFAULTS, ...changes, slug, id, created_at });
  assert.equal((await read(slug)).body, changed);
});

test('creating a benchmark is refused unless its slug has 1 to 64 characters of a-z, 0-9 and hyphen and is unique on the platform', async () => {
  for (const slug of ['-', 'a', '0-', 'x'.repeat(64)]) assert.is((await create({ ...FIELDS, slug })).status, 201, slug);
  for (const slug of ['', 'A', 'a_b', 'a b', 'é', 'a\n', 'x'.repeat(65)]) {
    const refused = await create({ ...FIELDS, slug });
    assert.equal([refused.status, pointerOf(refused)], [422, '/slug'], slug);
  }
  assert.equal(codeOf(await create({ ...FIELDS, slug: 'a' })), [409, 'taken']);
});

test('creating a benchmark with a text that is too long, an unknown value or an unknown field gets 422', async () => {
  const { slug } = await made({ display_name: 'x'.repeat(128), evaluator_strategy: 'x'.repeat(64) });
  const uri = `https://example.com/${'x'.repeat(512 - 20)}`;
  assert.is((await change(slug, { dataset_uri: uri })).status, 200);
  const wrong: Json[] = [
    { display_name: '' },
    { display_name: 'x'.repeat(129) },
    { evaluator_strategy: '' },
    { evaluator_strategy: 'x'.repeat(65) },
    { dataset_uri: '' },
    { dataset_uri: `${uri}x` },
    { default_harness: 'vim' },
    { trajectory_builder: 'other' },
    { evaluator_config: [] },
    { is_active: 'yes' },
    { read_only: 1 },
    { slug: 'other' },
    { more: 1 },
  ];
  for (const body of wrong) assert.is((await change(slug, body)).status, 422, JSON.stringify(body));
  for (const body of wrong.filter((one) => !('slug' in one)))
    assert.is((await create({ ...FIELDS, slug: `s-${count++}`, ...body })).status, 422, JSON.stringify(body));
  for (const name of Object.keys(FIELDS))
    assert.is((await create({ ...FIELDS, slug: `s-${count++}`, [name]: undefined })).status, 422, name);
});

test('creating a benchmark accepts any text of 1 to 512 characters as its dataset URI, because the URI is used only when a run starts', async () => {
  for (const dataset_uri of ['x', 'x'.repeat(512), 's3://tasks/one.jsonl', 'https://127.0.0.1/a'])
    assert.is((await made({ dataset_uri })).dataset_uri, dataset_uri);
  assert.is((await create({ ...FIELDS, slug: 'long', dataset_uri: 'x'.repeat(513) })).status, 422);
});

test('while a benchmark is read-only, an update may only change the field read_only; any other update, and retiring the benchmark, gets 409', async () => {
  const { slug } = await made({ read_only: true });
  assert.equal(codeOf(await change(slug, { display_name: 'Other' })), [409, 'read_only']);
  assert.equal(codeOf(await change(slug, { display_name: 'Other', read_only: false })), [409, 'read_only']);
  assert.equal(codeOf(await retire(slug)), [409, 'read_only']);
  const events = p.log.events.length;
  assert.is((await change(slug, { ...FIELDS, read_only: true })).status, 200, 'nothing changes');
  assert.is(p.log.events.length, events);
  const opened = await change(slug, { read_only: false });
  assert.equal([opened.status, (opened.body as Json).read_only], [200, false]);
  assert.is((await change(slug, { display_name: 'Other', read_only: true })).status, 200);
  assert.is((await change(slug, { read_only: null })).status, 200, 'null resets it to false');
  assert.is((await retire(slug)).status, 204);
});

test('reading a retired benchmark gets 404; a new benchmark can use the slug of the retired one, and has another id', async () => {
  const { slug, id } = await made();
  assert.is((await retire(slug)).status, 204);
  assert.is((await read(slug)).status, 404);
  assert.is((await change(slug, { display_name: 'Other' })).status, 404);
  assert.is((await retire(slug)).status, 404);
  const list = (await p.send('GET', '/benchmarks?limit=200')).body as Json[];
  assert.not.ok(list.some((one) => one.id === id));
  const again = await made({ slug });
  assert.is.not(again.id, id);
  assert.equal((await read(slug)).body, again);
  assert.equal(codeOf(await create({ ...FIELDS, slug })), [409, 'taken']);
});

test('an update of a benchmark that changes nothing appends no event, and an update with another revision in If-Match gets 412', async () => {
  const { slug } = await made();
  const events = p.log.events.length;
  assert.is((await change(slug, FIELDS)).status, 200);
  assert.is((await change(slug, {})).status, 200);
  assert.is(p.log.events.length, events);
  assert.is((await change(slug, { display_name: 'A' }, { 'if-match': '"7"' })).status, 412);
  const changed = await change(slug, { display_name: 'A' }, { 'if-match': '"0"' });
  assert.equal([changed.status, changed.headers.get('etag')], [200, '"1"']);
});

test('a repeated request to create a benchmark with the same Idempotency-Key gets the first response, even if the benchmark was retired in between', async () => {
  const slug = `s-${count++}`;
  const post = () => p.send('POST', '/benchmarks', { body: { ...FIELDS, slug }, headers: { 'idempotency-key': `create-${slug}` } });
  const first = await post();
  assert.equal([first.status, first.headers.get('location')], [201, `/benchmarks/${slug}`]);
  const patch = () => change(slug, { display_name: 'B' }, { 'idempotency-key': `change-${slug}` });
  const changed = await patch();
  assert.is((await retire(slug)).status, 204);
  assert.equal((await post()).body, first.body);
  assert.equal((await patch()).body, changed.body);
});

test('a request to create, change or retire a benchmark is refused unless the caller is a super-admin; without a credential it is refused, too', async () => {
  const { slug } = await made();
  const { key } = await addMember(p, 'OWNER');
  assert.is((await create({ ...FIELDS, slug: 'mine' }, key)).status, 403);
  assert.is((await p.send('PATCH', `/benchmarks/${slug}`, { key, body: { is_active: false } })).status, 403);
  assert.is((await p.send('DELETE', `/benchmarks/${slug}`, { key })).status, 403);
  assert.is((await read(slug, '')).status, 401);
});

const upload = async (content: string): Promise<Json> => {
  const agent = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'A', slug: `a${count++}` } })).body as Json).id;
  const session = ((await p.send('POST', `${p.tenant}/agents/${agent}/sessions`, { body: {} })).body as Json).id;
  const raw = formBody({ name: 'upload', filename: 'tasks.jsonl', content });
  return (await p.send('POST', `${p.tenant}/sessions/${session}/attachments`, { raw, headers: { 'content-type': FORM_TYPE } }))
    .body as Json;
};

test('a new benchmark can name an uploaded file by its URL; the file is then copied to the files of the platform, and the benchmark has its digest', async () => {
  const { url, sha256 } = await upload('{"id":"a"}\n\n{"id":7}\r\n{"prompt":"x"}\n');
  const benchmark = await made({ dataset_uri: url });
  assert.equal([benchmark.dataset_uri, benchmark.dataset_sha256], [url, sha256]);
  assert.ok(await p.blobs.of('platform').exists(sha256 as string));
  const path = new URL(url as string).pathname;
  assert.equal((await made({ dataset_uri: path })).dataset_sha256, sha256, 'the path suffices');
  const moved = (await change(benchmark.slug, { dataset_uri: FIELDS.dataset_uri })).body as Json;
  assert.is(moved.dataset_sha256, null);
});

test('creating a benchmark with an uploaded file that is not a dataset is refused, and the error names the number of the invalid line', async () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['{"id":"a"}\n[1]\n', /Line 2 .* not a JSON object/],
    ['{"id":"a"}\n\n{"id":"a"}\n', /Line 3 .* repeats the id a/],
    ['{"id":""}', /Line 1 .* id/],
    ['{"id":1.5}', /Line 1 .* id/],
    [`{"id":"${'x'.repeat(129)}"}`, /Line 1 .* id/],
    ['\n \n', /no tasks/],
    ['{"id":', /Line 1/],
    [Array.from({ length: 10_001 }, () => '{}').join('\n'), /more than 10000 tasks/],
  ];
  for (const [content, message] of wrong) {
    const refused = await create({ ...FIELDS, slug: `s-${count++}`, dataset_uri: (await upload(content)).url });
    assert.equal([refused.status, pointerOf(refused)], [422, '/dataset_uri'], refused.text);
    assert.match(refused.text, message);
  }
});

test('creating a benchmark gets the same 422 if its dataset is a file that does not exist and if it is a file of a tenant of which the super-admin is not a member', async () => {
  const { url, sha256 } = await upload('{}');
  const other = await createSecondTenant(p, 'other');
  const foreign = (url as string).replace(p.tenant_id, other.id);
  const missing = (url as string).replace(sha256 as string, '0'.repeat(64));
  const [one, two] = [
    await create({ ...FIELDS, slug: 'x1', dataset_uri: foreign }),
    await create({ ...FIELDS, slug: 'x1', dataset_uri: missing }),
  ];
  assert.equal(codeOf(one), [422, 'unknown_file']);
  assert.equal(codeOf(two), [422, 'unknown_file']);
});

test('the list of benchmarks can be searched by name and slug, and shows only those that can be run, or only the others', async () => {
  const { slug } = await made({ display_name: 'A rare benchmark' });
  const inactive = await made({ display_name: 'A rare old one', is_active: false });
  const found = async (query: string) => ((await p.send('GET', `/benchmarks?${query}`)).body as Json[]).map((one) => one.slug);
  assert.equal(await found('q=RARE'), [inactive.slug, slug]);
  assert.equal([await found('q=rare&is_active=true'), await found('q=rare&is_active=false')], [[slug], [inactive.slug]]);
  assert.ok((await found(`q=${slug}`)).includes(slug));
  await change(slug, { is_active: false });
  assert.equal(await found('q=rare&is_active=true'), []);
});

afterLastTest(async () => {
  await p.close();
  await client.close();
});

test.run();
