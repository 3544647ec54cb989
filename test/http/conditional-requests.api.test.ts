import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
let count = 0;
const createAgent = async (): Promise<string> => {
  const { body } = await p.send('POST', `${p.tenant}/agents`, { body: { name: `Agent ${count}`, slug: `a${count++}` } });
  return `${p.tenant}/agents/${(body as Json).id}`;
};
const patch = (path: string, name: string, headers: Record<string, string> = {}) => p.send('PATCH', path, { body: { name }, headers });
const codeOf = ({ body }: Answer) => (body as Json).code;
const list = async (query: string): Promise<{ names: unknown[]; answer: Answer }> => {
  const answer = await p.send('GET', `${p.tenant}/agents?${query}`);
  return { answer, names: (answer.body as Json[]).map(({ name }) => name) };
};
const nextOf = ({ headers }: Answer): string | undefined => /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];

test('a change with If-Match is refused and has no effect unless the header names the current revision of the resource', async () => {
  const path = await createAgent();
  assert.is((await patch(path, 'One', { 'if-match': '"0"' })).headers.get('etag'), '"1"');
  const unmatched = [
    '"0"',
    '"2"',
    '"x"',
    '1',
    '',
    '"999999999999999999"',
    '"01"',
    '"0", "2"',
    '"0,"1",',
    '"1" "0"',
    '"0", 1',
    '*, "1"',
    'W/"1"',
    '"0", W/"1"',
  ];
  for (const tag of unmatched) {
    const answer = await patch(path, 'Two', { 'if-match': tag });
    assert.equal([answer.status, codeOf(answer)], [412, 'precondition_failed'], tag);
  }
  assert.is((await patch(path, 'Two', { 'if-match': '*' })).headers.get('etag'), '"2"');
  assert.is((await patch(path, 'Three', { 'if-match': '"0", "2"' })).headers.get('etag'), '"3"', 'one of a list');
  assert.is((await patch(path, 'Four', { 'if-match': '"a,b" ,W/"x","3"' })).headers.get('etag'), '"4"');
  assert.is((await p.send('DELETE', path, { headers: { 'if-match': '"3"' } })).status, 412);
  assert.is((await p.send('DELETE', path, { headers: { 'if-match': '"4"' } })).status, 204);
});

test('If-Match is compared with the resource in the path, not with other resources that the request changes', async () => {
  const tag = (await p.send('PATCH', p.tenant, { body: { name: 'Renamed' } })).headers.get('etag')!;
  const invite = (email: string, match: string) =>
    p.send('POST', `${p.tenant}/members`, { body: { email }, headers: { 'if-match': match } });
  assert.is((await invite('one@example.com', tag)).status, 201);
  assert.is((await invite('two@example.com', tag)).status, 412);
});

test('if many concurrent changes send the same ETag in If-Match, exactly one of them succeeds', async () => {
  const path = await createAgent();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => patch(path, `Name ${index}`, { 'if-match': '"0"' })));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  assert.equal(answers.filter(({ status }) => status === 412).length, 19);
});

test('concurrent changes without If-Match are made one after another, and all succeed', async () => {
  const path = await createAgent();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => patch(path, `Name ${index}`)));
  const tags = answers.map(({ headers }) => headers.get('etag'));
  assert.equal(new Set(tags).size, 20);
});

test('If-Match on a resource to which the caller has no access gets the same response as on a resource that does not exist', async () => {
  const { user_id } = await addMember(p, 'MEMBER');
  const key = p.eventsOf('ApiKeyCreated').find(({ data }) => (data as { owner_id: string }).owner_id === user_id)!.id;
  const missing = `c${'0'.repeat(24)}`;
  for (const headers of [{ 'if-match': '"7"' }, { 'if-match': '*' }]) {
    const foreign = await p.send('DELETE', `/admin/api-keys/${key}`, { headers });
    const absent = await p.send('DELETE', `/admin/api-keys/${missing}`, { headers });
    assert.equal([foreign.status, codeOf(foreign)], [404, 'not_found']);
    assert.is((foreign.body as Json).detail, (absent.body as Json).detail);
  }
});

test('for a resource without an ETag, only `If-Match: *` matches; reading it with If-None-Match never gets 304', async () => {
  const rebuild = (tag: string) => p.send('POST', '/admin/projections/agents/rebuild', { headers: { 'if-match': tag } });
  assert.equal([(await rebuild('"0"')).status, (await rebuild('"0", "1"')).status], [412, 412]);
  assert.is((await rebuild('*')).status, 404, 'the test platform cannot rebuild');
  for (const path of ['/me', '/admin/projections', '/admin/drift']) {
    const answer = await p.send('GET', path, { headers: { 'if-none-match': '*' } });
    assert.equal([answer.status, answer.headers.get('etag')], [200, null], path);
  }
});

test("a read gets 304 if If-None-Match is * or contains the resource's ETag (alone, in a list or as a weak ETag)", async () => {
  const path = await createAgent();
  await p.waitForProjections();
  const read = (tag: string) => p.send('GET', path, { headers: { 'if-none-match': tag } });
  for (const tag of ['"0"', 'W/"0"', '"7", "0"', '*']) {
    const answer = await read(tag);
    assert.equal([answer.status, answer.text, answer.headers.get('etag')], [304, '', '"0"'], tag);
  }
  for (const tag of ['"1"', '0', '"00"']) assert.is((await read(tag)).status, 200, tag);
  const changed = await patch(path, 'Changed');
  const headers = { 'if-none-match': '"0"', 'consistency-token': changed.headers.get('consistency-token')! };
  assert.is((await p.send('GET', path, { headers })).headers.get('etag'), '"1"');
});

test('the script of the API reference gets 304 if If-None-Match contains its ETag', async () => {
  const { headers } = await p.send('GET', '/docs/scalar.js');
  const etag = headers.get('etag')!;
  for (const tag of [etag, `W/${etag}`, `"7", ${etag}`, '*']) {
    const answer = await p.send('GET', '/docs/scalar.js', { headers: { 'if-none-match': tag } });
    assert.equal([answer.status, answer.text, answer.headers.get('etag')], [304, '', etag], tag);
  }
  assert.is((await p.send('GET', '/docs/scalar.js', { headers: { 'if-none-match': '"7"' } })).status, 200);
});

test('a read whose response includes data of other streams never gets 304, but its ETag can be sent in If-Match', async () => {
  const path = await createAgent();
  const { user_id } = await addMember(p, 'MEMBER', p.tenant_id, 'changing@example.com');
  const hook = { provider: 'github', agent_id: path.split('/').at(-1), label: 'Repo' };
  const { id } = (await p.send('POST', `${p.tenant}/webhook-integrations`, { body: hook })).body as Json;
  await p.waitForProjections();
  const changes: [string, Json | null][] = [
    [`/admin/tenants/${p.tenant_id}`, { name: 'Counted', reason: 'a test' }],
    [`${p.tenant}/webhook-integrations/${id}`, { label: 'Other' }],
    [`${path}/effective-permissions?user_id=${user_id}`, null],
    [`${path}/diff?from=0:0`, null],
  ];
  for (const [one, body] of changes) {
    const tag = (await p.send('GET', one)).headers.get('etag');
    assert.is(tag !== null, body !== null, one);
    for (const condition of [tag ?? '"0"', '*'])
      assert.is((await p.send('GET', one, { headers: { 'if-none-match': condition } })).status, 200, `${one} ${condition}`);
    if (body && tag) assert.is((await p.send('PATCH', one, { body, headers: { 'if-match': tag } })).status, 200, one);
  }
});

test('a read with a Consistency-Token waits for the position in the token; its Projection-Position is at least that position', async () => {
  const path = await createAgent();
  for (let turn = 0; turn < 20; turn++) {
    const changed = await patch(path, `Turn ${turn}`);
    const token = changed.headers.get('consistency-token')!;
    const read = await p.send('GET', path, { headers: { 'consistency-token': token } });
    assert.is((read.body as Json).name, `Turn ${turn}`);
    const [projected, required] = [read.headers.get('projection-position')!, token].map((one) => BigInt(one.split(':')[0]!));
    assert.ok(projected! >= required!, `${projected} ${required}`);
  }
});

test('a read with a malformed Consistency-Token is refused; a read with a token beyond the end of the log waits 2 s and gets 503 with Retry-After', async () => {
  const path = await createAgent();
  const read = (token: string) => p.send('GET', path, { headers: { 'consistency-token': token } });
  for (const token of ['', 'x', '1', '1:', ':1', '-1:-1', '1:1:1', `${'9'.repeat(20)}:1`, '1.5:1', '1:1 ']) {
    const { status } = await read(token);
    assert.ok(status === 400 || (token === '1:1 ' && status === 200) || status === 422, `${token}: ${status}`);
  }
  const folded = [p.tenant, `${p.tenant}/members`, `${path}/roles`, `${path}/history`];
  const written = (await patch(path, 'Written')).headers.get('consistency-token')!;
  const statuses = async (token: string) =>
    Promise.all(folded.map(async (one) => (await p.send('GET', one, { headers: { 'consistency-token': token } })).status));
  assert.equal(await statuses('garbage'), Array(4).fill(400), 'of what is folded from the log too');
  assert.equal(await statuses('9223372036854775807:1'), Array(4).fill(503));
  p.projectionDelay.ms = 300;
  assert.equal(await statuses(written), Array(4).fill(200));
  p.projectionDelay.ms = 2_000;
  const unseen = (await patch(path, 'Unseen')).headers.get('consistency-token')!;
  const early = performance.now();
  assert.equal(await statuses(unseen), Array(4).fill(200), 'and waits for no view');
  assert.ok(performance.now() - early < 1_500);
  p.projectionDelay.ms = 0;
  const startedAt = performance.now();
  const answer = await read('9223372036854775807:9223372036854775807');
  const ms = performance.now() - startedAt;
  assert.equal([answer.status, codeOf(answer)], [503, 'not_caught_up']);
  assert.ok(answer.headers.get('retry-after') && ms > 1_900 && ms < 4_000 * loadFactor(), `${ms}`);
});

test('following the Link headers of a list yields every item once, newest first, even if items are created in the meantime', async () => {
  for (let n = 0; n < 7; n++) await createAgent();
  await p.waitForProjections();
  const all = (await list('limit=200')).names;
  let path: string | undefined = `${p.tenant}/agents?limit=3`;
  const seen: unknown[] = [];
  while (path) {
    const page: Answer = await p.send('GET', path);
    seen.push(...(page.body as Json[]).map(({ name }) => name));
    await createAgent();
    path = nextOf(page);
    if (path) assert.match(path, new RegExp(`^${p.tenant}/agents\\?limit=3&cursor=[\\w-]+$`));
  }
  assert.equal(seen, all);
});

test('Total-Count is the size of the unfiltered list; a filtered list has no Total-Count', async () => {
  await p.waitForProjections();
  const count = async (query: string) => (await list(query)).answer.headers.get('total-count');
  const total = String((await list('limit=200')).names.length);
  assert.equal([await count(''), await count('limit=1')], [total, total]);
  for (const query of ['q=Agent', 'is_active=true', 'kind=user']) assert.is(await count(query), null, query);
  const { key } = await addMember(p, 'MEMBER', p.tenant_id, 'other@example.com');
  assert.is((await p.send('GET', `${p.tenant}/agents`, { key })).headers.get('total-count'), null);
});

test('the items of a list can be filtered, and can be sorted by a field in both directions', async () => {
  await p.waitForProjections();
  const { names } = await list('sort=name&limit=200');
  assert.equal(names, [...names].sort());
  assert.equal((await list('sort=-name&limit=200')).names, [...names].reverse());
  assert.equal((await list('q=AGENT%2010')).names, ['Agent 10']);
  assert.equal((await list('is_active=false')).names, []);
  assert.equal((await list('q=%25')).names, [], 'a per cent sign is itself');
});

test('if a paging parameter is invalid, the request is refused and the error points to that parameter', async () => {
  const cases: [string, string][] = [
    ...['0', '201', '-1', '1.5', 'x', '', '1e9', '0x10', '1e2', '%2010', '10%20', '10.0', '%2B5', '0b1', '%D9%A1', '9'.repeat(400)].map(
      (limit): [string, string] => [`limit=${limit}`, '/query/limit'],
    ),
    ...['x', 'e30', 'W10', 'WyJhIiwiYiJd', '%00', 'a'.repeat(1_001)].map((cursor): [string, string] => [
      `cursor=${cursor}`,
      '/query/cursor',
    ]),
    ...['nothing', '-', '', '--name', 'constructor', 'name;drop'].map((sort): [string, string] => [`sort=${sort}`, '/query/sort']),
    ['limit=1&limit=2', '/query/limit'],
    ['is_active=yes', '/query/is_active'],
    ['kind=x', '/query/kind'],
    ['q=', '/query/q'],
    ['page=1', '/query/page'],
  ];
  for (const [query, pointer] of cases) {
    const { status, body, text } = await p.send('GET', `${p.tenant}/agents?${query}`);
    assert.equal([status, (body as { errors: { pointer: string }[] }).errors?.[0]?.pointer], [422, pointer], `${query} ${text}`);
  }
  assert.is((await p.send('DELETE', `${await createAgent()}?force=true`)).status, 422);
});

afterLastTest(() => p.close());

test.run();
