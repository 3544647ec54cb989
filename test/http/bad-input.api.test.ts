import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { MAX_JSON_BYTES, readBytes } from '../../api/http/json-body.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
let count = 0;
const slug = () => `s${count++}`;
const post = (raw: string | Uint8Array, headers: Record<string, string> = {}, path = `${p.tenant}/agents`) =>
  p.send('POST', path, { raw, headers });
const agent = (more: string): string => `{"name":"Agent","slug":"${slug()}"${more}}`;
const errorOf = ({ body }: Answer) => (body as { errors?: { code: string; pointer: string }[] }).errors?.[0];
const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const model = (config: string): string => `{"provider":"p","slug":"${slug()}","name":"M","config":${config}}`;
const models = (raw: string) => post(raw, {}, '/admin/models');

const checkProblems = async (expected: number, answers: (readonly [string, Answer])[]): Promise<void> => {
  for (const [what, { status, headers, text }] of answers) {
    assert.is(status, expected, `${what.slice(0, 100)}: ${text}`);
    assert.is(headers.get('content-type'), 'application/problem+json');
    assert.not.match(text, /\bat .*:\d+:\d+|node_modules|SyntaxError/);
  }
};
/** Asserts that each of these bodies is refused with this status, and that no agent or model is created. */
const refused = async (expected: number, bodies: readonly (string | Uint8Array)[], send = post): Promise<void> => {
  const created = () => p.eventsOf('AgentCreated', 'ModelRegistered').length;
  const before = created();
  await checkProblems(expected, await Promise.all(bodies.map(async (raw) => [String(raw), await send(raw)] as const)));
  assert.is(created(), before);
};

test('a request body that is not JSON gets 400; JSON that is not an object gets 422', async () => {
  await refused(400, ['', ' ', '{', agent('').slice(0, -1), `${agent('')}x`, `${agent('')}{}`, agent(',"voice":NaN'), `/* */${agent('')}`]);
  await refused(400, [
    `\ufeff\ufeff${agent('')}`,
    agent(',}'),
    "{'name':'x'}",
    new Uint8Array([0x22, 0xff, 0x22]),
    agent(',"voice":"\u0001"'),
  ]);
  await refused(422, ['[]', 'null', 'true', '1', '"x"', `[${agent('')}]`]);
});

test('the error for a missing field says that the field is missing, whatever its type', async () => {
  const problemOf = async (path: string, raw: string) => (await post(raw, {}, path)).body as { detail: string; errors: Json[] };
  const { detail, errors } = await problemOf(`${p.tenant}/agents`, '{}');
  assert.is(detail, '/name: is missing');
  assert.equal(
    errors.map(({ pointer, message }) => [pointer, message]),
    [
      ['/name', 'is missing'],
      ['/slug', 'is missing'],
    ],
  );
  const hook = await problemOf(`${p.tenant}/webhook-integrations`, '{"provider":"other"}');
  assert.equal(
    hook.errors.filter(({ message }) => message === 'is missing').map(({ pointer }) => pointer),
    ['/agent_id', '/label'],
  );
  assert.match(hook.detail, '/provider: must be one of github, gitlab');
});

test('a request body with 64 levels of nesting is accepted; one with more levels gets 422', async () => {
  await refused(
    422,
    [65, 10_000, 100_000].map((depth) => agent(`,"voice":${deep(depth - 1)}`)),
  );
  for (const [depth, status] of [
    [62, 201],
    [63, 422],
  ] as const)
    assert.is((await models(model(`{"x":${deep(depth)}}`))).status, status, `${depth}`);
});

test('a request is refused if a value or a field name in its body contains the character NUL or an unpaired surrogate', async () => {
  await refused(422, [agent(',"voice":"\\u0000"'), agent(',"voice":"\\ud800"'), agent(',"voice":"\\udc00\\ud800"'), agent(',"\\u0000":1')]);
  assert.is((await post(agent(',"voice":"\\ud83d\\ude00"'))).status, 201);
});

test('a request is refused if its body contains a number that JavaScript cannot represent exactly', async () => {
  for (const number of ['9007199254740993', '1e400', '-1e400', '-0', '1e22']) {
    assert.is((await models(model(`{"n":${number}}`))).status, 422, number);
    assert.is((await post(agent(`,"iteration_warn_threshold":${number}`))).status, 422, number);
  }
  assert.is((await models(model('{"n":9007199254740991,"m":0.1,"e":1e3}'))).status, 201);
});

test('a request is refused if its body has the same field name twice in an object at any depth, even if one of the two is written with escape sequences', async () => {
  await refused(422, [agent(',"name":"B"'), agent(',"na\\u006de":"B"'), agent(',"voice":"a","voice":"b"')]);
  await checkProblems(422, [
    ['nested', await models(model('{"a":{"b":1,"b":1}}'))],
    ['in a list', await models(model('{"a":[{"b":1,"b":2}]}'))],
  ]);
  assert.is((await models(model('{"a":{"b":"b:\\":"},"b":[{"b":1},{"b":2}]}'))).status, 201);
});

test('no field name in a body can change the prototype of other JavaScript objects', async () => {
  await refused(422, [agent(',"__proto__":{"is_seed":true}'), agent(',"constructor":{"prototype":{"x":1}}'), agent(',"toString":1')]);
  assert.is((await models(model('{"__proto__":{"x":1}}'))).status, 422);
  const stored = await models(model('{"constructor":{"prototype":{"x":1}}}'));
  assert.is(stored.status, 201);
  assert.is(JSON.stringify((stored.body as Json).config), '{"constructor":{"prototype":{"x":1}}}');
  assert.is(({} as Json).x, undefined);
});

test('requests whose bodies have tens of thousands of fields or half a megabyte of text get a response quickly', async () => {
  const names = Array.from({ length: 40_000 }, (_, index) => `"k${index}":1`).join();
  const startedAt = performance.now();
  await refused(422, [`{${names}}`, agent(`,${names}`)]);
  const long = await post(agent(`,"description":"${'x'.repeat(400_000)}"`));
  assert.is(long.status, 201);
  assert.ok(performance.now() - startedAt < 3_000 * loadFactor());
  assert.ok(errorOf(await post(`{${names}}`)));
});

test('a request with a body of exactly the limit is accepted; with one byte more it gets 413, and the response names the limit', async () => {
  const fit = agent('');
  assert.is((await post(fit.padEnd(MAX_JSON_BYTES, ' '))).status, 201);
  const { status, body } = await post(fit.padEnd(MAX_JSON_BYTES + 1, ' '));
  assert.equal([status, (body as Json).limit, (body as Json).code], [413, MAX_JSON_BYTES, 'too_large']);
});

test('a request with a body is accepted only if its content type is application/json in UTF-8', async () => {
  const types = ['text/plain', 'application/json; charset=utf-16', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded'];
  for (const type of [...types, '', 'application/jsonx', 'application/json, text/plain', 'text/json', 'application/merge-patch+json'])
    assert.is((await post(agent(''), { 'content-type': type })).status, 415, type);
  for (const type of ['application/json', 'Application/JSON; Charset="UTF-8"', 'application/json;charset=utf-8;x=y'])
    assert.is((await post(agent(''), { 'content-type': type })).status, 201, type);
});

test('in any query, a blank from an unencoded plus is accepted in a time; a refused time is shown as it arrived', async () => {
  const read = async (path: string) => p.send('GET', `${p.tenant}/${path}`);
  const [plus, bad] = ['2026-11-26T10:00:00+02:00', '2026-11-26T10:00:00+0200'];
  for (const query of ['audit-logs?from=', 'audit-logs?to=', 'agents?as_of=', 'costs?end=', 'cron-jobs/occurrences?from=']) {
    assert.ok((await read(query + plus)).status !== 422, query);
    const refused = await read(query + bad);
    if (refused.status === 404) continue;
    assert.is(refused.status, 422, query);
    assert.match((refused.body as Json).detail as string, /RFC 3339 date-time, such as .* it is "2026-11-26T10:00:00 0200"/, query);
  }
});

test('a request with a compressed body gets 415, and the response names the unsupported coding and the accepted one', async () => {
  for (const coding of ['gzip', 'BR', 'identity, gzip', 'x'.repeat(300), '"', '\u00e9']) {
    const answer = await post(agent(''), { 'content-encoding': coding });
    assert.equal([answer.status, answer.headers.get('accept-encoding')], [415, 'identity'], coding);
    assert.match((answer.body as Json).detail as string, /^The Content-Encoding .* is not supported: send the body uncompressed$/);
  }
  assert.match(
    (await post(agent(''), { 'content-encoding': 'gzip' })).text,
    /The Content-Encoding gzip is not supported: send the body uncompressed"/,
  );
  assert.is((await post(agent(''), { 'content-type': 'text/plain' })).headers.get('accept-encoding'), null);
  for (const coding of ['identity', 'Identity', '']) assert.is((await post(agent(''), { 'content-encoding': coding })).status, 201, coding);
});

test('a POST whose fields are all optional accepts an empty body; other operations with fields refuse it', async () => {
  const { id } = (await post(agent(''))).body as { id: string };
  const path = `${p.tenant}/agents/${id}`;
  await p.send('DELETE', path);
  assert.is((await p.send('POST', `${path}/restore`, { headers: { 'content-type': 'text/plain' }, raw: '{}' })).status, 415);
  const restored = await p.send('POST', `${path}/restore`);
  assert.equal([restored.status, (restored.body as { id: string }).id], [200, id]);
  await p.send('DELETE', path);
  assert.is((await post('', {}, `${path}/restore`)).status, 200);
  assert.is((await p.send('POST', `${p.tenant}/agents`)).status, 415);
  assert.is((await post('x'.repeat(MAX_JSON_BYTES + 1), { 'content-type': 'text/plain' })).status, 415, 'refused before the body is read');
  assert.is((await p.send('PATCH', path)).status, 415);
});

test('a POST without fields accepts only an empty body or an empty object', async () => {
  const path = '/admin/projections/agents/rebuild';
  const none = await p.send('POST', path);
  assert.is(none.status, 404, 'the test platform cannot rebuild');
  for (const raw of ['', '{}']) assert.is((await post(raw, {}, path)).status, 404, raw);
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '0' };
  assert.is((await post('', form, path)).status, 404, 'some clients send a Content-Type without a body');
  assert.is((await post('', form)).status, 415);
  await checkProblems(422, [
    ['a field', await post('{"x":1}', {}, path)],
    ['a list', await post('[]', {}, path)],
  ]);
  assert.is(errorOf(await post('{"x":1}', {}, path))!.pointer, '/x');
  await checkProblems(400, [['no JSON', await post('{', {}, path)]]);
  await checkProblems(415, [['text', await post('{}', { 'content-type': 'text/plain' }, path)]]);
  await checkProblems(413, [['long', await post(' '.repeat(MAX_JSON_BYTES + 1), {}, path)]]);
  const { id } = (await post(agent(''))).body as { id: string };
  const credentials = `${p.tenant}/agents/${id}/runner-credentials`;
  await checkProblems(422, [['a field', await post('{"x":1}', {}, credentials)]]);
  assert.is((await p.send('DELETE', `${p.tenant}/agents/${id}`, { raw: 'x', headers: { 'content-type': 'text/plain' } })).status, 204);
});

test('every invalid field is reported with its JSON pointer', async () => {
  const { body } = await post('{"name":"","slug":"-","kind":"x","no":1,"iteration_warn_threshold":0.5}');
  const { errors, detail } = body as { errors: { pointer: string; code: string; message: string }[]; detail: string };
  assert.equal(errors.map(({ pointer }) => pointer).sort(), ['/iteration_warn_threshold', '/kind', '/name', '/no', '/slug']);
  assert.ok(errors.every(({ code, message }) => /^[a-z_]+$/.test(code) && message.length > 5));
  assert.ok(detail.length > 5);
  const { pointer } = errorOf(await post('{"a/b~c":1}'))!;
  assert.ok(['/name', '/a~1b~0c'].includes(pointer));
});

test('values of fields are not converted: a string is not accepted as a number, nor a number as a boolean', async () => {
  for (const more of [
    ',"iteration_warn_threshold":"1"',
    ',"is_admin_only":"true"',
    ',"is_admin_only":1',
    ',"voice":1',
    ',"description":[]',
  ])
    assert.is((await post(agent(more))).status, 422, more);
});

test('a valid request id that the client sends is used; an invalid one is replaced by a new id', async () => {
  const idFor = async (id: string) => (await p.send('GET', '/me', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
  assert.is(await idFor('abc-123'), 'abc-123');
  for (const id of ['a b', 'x'.repeat(129), '<script>', '']) assert.is.not(await idFor(id), id);
});

test('a request to an unknown path gets the same 404 with and without a credential', async () => {
  for (const path of ['/nothing', '/tenant', `${p.tenant}/agents/`, '/admin', '/.env', '/debug', `${p.tenant}/nothing`])
    for (const key of [p.key, '']) {
      const { status, body } = await p.send('GET', path, { key });
      assert.equal([status, (body as Json).code, (body as Json).instance], [404, 'not_found', path]);
    }
});

test('a request with a value that is too large for the event log is refused, and does not cause a server error', async () => {
  const numbers = Array.from({ length: 90_000 }, () => '9e15').join();
  assert.is(errorOf(await models(model(`{"n":[${numbers}]}`)))?.pointer, '/config');
});

test('a request whose body breaks off is refused as malformed, with and without a Content-Length', async () => {
  const broken = (headers: Record<string, string>) => {
    const body = new ReadableStream({ pull: (stream) => stream.error(new Error('aborted')) });
    return readBytes(new Request('http://x/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit), MAX_JSON_BYTES);
  };
  for (const headers of [{}, { 'content-length': '10' }] as Record<string, string>[]) {
    const error = await broken(headers).catch((thrown: unknown) => thrown);
    assert.is((error as Refusal).code, 'malformed', String(error));
  }
});

test('restoring a revision is refused if the restored fields together are too large for one event, even if several events had set them', async () => {
  const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Large', slug: 'large' } });
  const path = `${p.tenant}/agents/${(created.body as { id: string }).id}`;
  // This character takes two bytes in UTF-8, so the text has 500,000 bytes.
  const text = 'é'.repeat(250_000);
  const parts = ['description', 'description_prompt', 'initial_greeting'];
  for (const part of parts) assert.is((await p.send('PATCH', path, { body: { [part]: text } })).status, 200);
  for (const part of parts) await p.send('PATCH', path, { body: { [part]: null } });
  const { status, body } = await p.send('POST', `${path}/restore`, { body: { revision: 3 } });
  assert.equal([status, (body as { code: string }).code], [413, 'too_large']);
  assert.is((await p.send('POST', `${path}/restore`, { body: { revision: 2 } })).status, 413);
  assert.is((await p.send('POST', `${path}/restore`, { body: { revision: 1 } })).status, 200);
});

afterLastTest(() => p.close());

test.run();
