import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const TOOLS = `${p.tenant}/tools`;
const fields = (name: string, more: Json = {}): Json => ({ name, display_name: `Tool ${name}`, description: 'A tool', ...more });
const register = (body: Json): Promise<Answer> => p.send('POST', TOOLS, { body });
const registered = async (name: string, more: Json = {}): Promise<Json> => (await register(fields(name, more))).body as Json;
const patch = (id: unknown, body: Json, headers = {}): Promise<Answer> => p.send('PATCH', `${TOOLS}/${id}`, { body, headers });
const read = (id: unknown, query = ''): Promise<Answer> => p.send('GET', `${TOOLS}/${id}${query}`);
const list = async (): Promise<Json[]> => (await p.send('GET', `${TOOLS}?limit=200`)).body as Json[];
const synced = (name: string, more: Json = {}): Json => ({ ...fields(name), description_long: 'All of it', ...more });
const sync = (connector: string, body: unknown): Promise<Answer> => p.send('PUT', `${p.tenant}/connectors/${connector}/tools`, { body });
const issuesOf = ({ body }: Answer) => (body as { errors: { pointer: string; code: string }[] }).errors;
const typesSince = (index: number) => p.log.events.slice(index).map(({ type }) => type);

test('a registered tool is returned with the same content by its id and in the list', async () => {
  const answer = await register(fields('send', { description_long: 'Sends it', input_schema: { type: 'object' } }));
  assert.is(answer.status, 201);
  const tool = answer.body as Json;
  assert.is(answer.headers.get('location'), `${TOOLS}/${tool.id}`);
  assert.equal([tool.connector, tool.input_schema, tool.description_long], [null, { type: 'object' }, 'Sends it']);
  const found = await read(tool.id);
  assert.equal([found.status, found.body, found.headers.get('etag')], [200, tool, '"0"']);
  assert.equal(
    (await list()).find(({ id }) => id === tool.id),
    tool,
  );
});

test('the name of a tool of the tenant is refused for another one until it is removed; other tenants can use it', async () => {
  const { id } = await registered('unique');
  const again = await register(fields('unique'));
  assert.equal([again.status, issuesOf(again)[0]!.pointer], [409, '/name']);
  const other = await createSecondTenant(p);
  const elsewhere = await p.send('POST', `${other.tenant}/tools`, { key: other.key, body: fields('unique') });
  assert.is(elsewhere.status, 201);
  assert.not.equal((elsewhere.body as Json).id, id);
  assert.is((await p.send('GET', `${TOOLS}/${(elsewhere.body as Json).id}`)).status, 404);
  assert.is((await p.send('DELETE', `${TOOLS}/${id}`)).status, 204);
  for (const answer of [await read(id), await patch(id, { description: 'x' }), await p.send('DELETE', `${TOOLS}/${id}`)])
    assert.is(answer.status, 404);
  const next = await register(fields('unique'));
  assert.is(next.status, 201);
  assert.not.equal((next.body as Json).id, id);
});

test('an update of a tool changes the fields that it names, null resets a field, and repeating the update appends no event', async () => {
  const { id } = await registered('patched', { description_long: 'Long', input_schema: { type: 'object' } });
  const start = p.log.events.length;
  const updated = await patch(id, { display_name: 'New', description_long: null, input_schema: null, name: 'patched', description: null });
  const { display_name, description_long, input_schema, description } = updated.body as Json;
  assert.equal([updated.status, display_name, description_long, input_schema, description], [200, 'New', '', {}, 'A tool']);
  assert.equal(typesSince(start), ['ToolUpdated']);
  assert.is((await patch(id, { display_name: 'New', description_long: null })).status, 200);
  assert.equal(typesSince(start), ['ToolUpdated']);
  const renamed = await patch(id, { name: 'other' });
  assert.equal([renamed.status, issuesOf(renamed)[0]!.pointer], [409, '/name']);
  assert.is((await patch(id, { connector: 'x' })).status, 422);
  assert.is((await patch(id, { description: 'B' }, { 'if-match': '"0"' })).status, 412);
  assert.is((await patch(id, { description: 'B' }, { 'if-match': '"1"' })).status, 200);
  const first = await read(id, `?as_of=${encodeURIComponent(p.log.events[start - 1]!.at)}`);
  assert.is(first.status, 200);
});

test('registering a tool succeeds if its texts have exactly the maximum length, and is refused if one is longer', async () => {
  const limits: [string, number][] = [
    ['name', 128],
    ['display_name', 128],
    ['description', 1_024],
    ['description_long', 16_384],
  ];
  for (const [field, limit] of limits) {
    assert.is((await register(fields(`limit-${field}`, { [field]: 'é'.repeat(limit) }))).status, 201, field);
    const longer = await register(fields(`limit2-${field}`, { [field]: 'é'.repeat(limit + 1) }));
    assert.equal([longer.status, issuesOf(longer)[0]!.pointer], [422, `/${field}`]);
  }
  for (const name of ['', 'a\nb', ' ', 5, null]) assert.is((await register(fields('x', { name }))).status, 422, String(name));
});

test('registering a tool is refused if its input schema is invalid, refers to other documents or has an unsafe pattern', async () => {
  const { id } = await registered('schema');
  const faults: [Json, string, string][] = [
    [{ type: 'objekt' }, '/input_schema/type', 'enum'],
    [{ properties: { a: { $ref: 'https://example.com/x' } } }, '/input_schema/properties/a/$ref', 'remote_ref'],
    [{ properties: { a: { pattern: '(?=a)' } } }, '/input_schema/properties/a/pattern', 'invalid_pattern'],
  ];
  for (const [input_schema, pointer, code] of faults)
    for (const answer of [await register(fields('faulty', { input_schema })), await patch(id, { input_schema })]) {
      assert.is(answer.status, 422);
      assert.equal([issuesOf(answer)[0]!.pointer, issuesOf(answer)[0]!.code], [pointer, code]);
    }
  assert.is((await register(fields('faulty', { input_schema: { description: 'a'.repeat(65_536) } }))).status, 422);
  assert.is((await register(fields('faulty', { input_schema: [] }))).status, 422);
});

test('a sync adds, changes and removes the tools of a connector in one event; another sync with the same list appends no event', async () => {
  const first = await sync('mailer', [synced('send'), synced('list'), synced('drop')]);
  assert.is(first.status, 200);
  const [send, , drop] = first.body as Json[];
  assert.equal(
    (first.body as Json[]).map(({ name, connector }) => [name, connector]),
    [
      ['send', 'mailer'],
      ['list', 'mailer'],
      ['drop', 'mailer'],
    ],
  );
  const start = p.log.events.length;
  assert.equal((await sync('mailer', [synced('send'), synced('list'), synced('drop')])).body, first.body);
  assert.is(p.log.events.length, start);
  const second = await sync('mailer', [synced('new'), synced('list', { description: 'Other' }), synced('send')]);
  assert.equal(typesSince(start), ['ToolReserved', 'ConnectorToolsSynced']);
  const { added, changed, removed } = p.log.events.at(-1)!.data as { added: Json[]; changed: Json[]; removed: Json[] };
  assert.equal(
    [added.map(({ name }) => name), changed.map((fields) => omit(fields, 'id')), removed],
    [['new'], [{ description: 'Other' }], [{ id: drop!.id, name: 'drop' }]],
  );
  assert.is((await read(drop!.id)).status, 404);
  const provided = (await list()).filter(({ connector }) => connector === 'mailer');
  assert.equal(
    provided.toSorted((a, b) => String(a.id).localeCompare(String(b.id))),
    (second.body as Json[]).toSorted((a, b) => String(a.id).localeCompare(String(b.id))),
  );
  assert.equal((await read(send!.id)).body, send);
  const back = (await sync('mailer', [synced('drop')])).body as Json[];
  assert.equal([back.length, back[0]!.id], [1, drop!.id]);
  assert.equal((await sync('mailer', [])).body, []);
  assert.is((await list()).filter(({ connector }) => connector === 'mailer').length, 0);
});

test('two connectors and the tenant can each have a tool with the same name', async () => {
  const ids = [
    (await registered('same')).id,
    ((await sync('one', [synced('same')])).body as Json[])[0]!.id,
    ((await sync('two', [synced('same')])).body as Json[])[0]!.id,
  ];
  assert.is(new Set(ids).size, 3);
});

test('of a tool of a connector, only the input schema can be changed; a later sync keeps the changed schema', async () => {
  const [tool] = (await sync('crm', [synced('find')])).body as Json[];
  const changed = await patch(tool!.id, { input_schema: { type: 'object' }, display_name: 'Tool find' });
  assert.equal([changed.status, (changed.body as Json).input_schema, (changed.body as Json).connector], [200, { type: 'object' }, 'crm']);
  assert.is((await patch(tool!.id, { input_schema: { type: 'object' } })).status, 200);
  const refused = await patch(tool!.id, { description: 'Mine' });
  assert.equal([refused.status, issuesOf(refused)[0]!.pointer], [409, '/description']);
  assert.is((await p.send('DELETE', `${TOOLS}/${tool!.id}`)).status, 409);
  const [after] = (await sync('crm', [synced('find', { description: 'Theirs' })])).body as Json[];
  assert.equal([after!.description, after!.input_schema], ['Theirs', { type: 'object' }]);
  assert.equal((await read(tool!.id)).body, after);
  assert.equal(
    (await list()).find(({ id }) => id === tool!.id),
    after,
  );
});

test('a sync is refused and changes no tool if it has a repeated name, too many tools, or missing or unknown fields', async () => {
  const start = p.log.events.length;
  const twice = await sync('bad', [synced('a'), synced('b'), synced('a')]);
  assert.equal([twice.status, issuesOf(twice)[0]!.pointer], [422, '/2/name']);
  assert.is((await sync('bad', [fields('a')])).status, 422);
  assert.is((await sync('bad', [synced('a', { input_schema: {} })])).status, 422);
  assert.is((await sync('bad', { tools: [] })).status, 422);
  const many = (count: number) => Array.from({ length: count }, (_, index) => synced(`t${index}`));
  assert.is((await sync('bad', many(501))).status, 422);
  for (const connector of ['Bad', 'a_b', '-a', 'a'.repeat(65)]) assert.is((await sync(connector, [])).status, 404, connector);
  assert.is(p.log.events.length, start);
  assert.is(((await sync('large', many(500))).body as Json[]).length, 500);
});

test('if a sync fails after it has reserved the ids of new tools, these tools are not shown; repeating the sync completes it', async () => {
  const { transact } = { transact: p.log.append };
  let isDown = true;
  p.log.append = ((stream: string, ...rest: never[]) => {
    if (isDown && stream.startsWith('connector-')) throw new Error('the event store is down');
    return (transact as (...args: unknown[]) => unknown)(stream, ...rest);
  }) as typeof p.log.append;
  assert.is((await sync('half', [synced('one'), synced('two')])).status, 500);
  isDown = false;
  assert.is((await list()).filter(({ connector }) => connector === 'half').length, 0);
  const reserved = p.log.events.filter(({ type, data }) => type === 'ToolReserved' && (data as Json).connector === 'half');
  assert.is(reserved.length, 2);
  assert.is((await read(reserved[0]!.id)).status, 404);
  assert.is((await patch(reserved[0]!.id, { input_schema: {} })).status, 404);
  assert.is((await sync('half', [synced('one'), synced('two')])).status, 200);
  p.log.append = transact;
  assert.is((await list()).filter(({ connector }) => connector === 'half').length, 2);
});

afterLastTest(() => p.close());

test.run();
