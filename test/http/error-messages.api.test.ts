// share
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { openapiDocument } from '../fixtures/openapi-document.ts';
import { openShare } from '../fixtures/share.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;
/** These end the use of the tenant, which the test needs for the other requests. */
const ENDS_USE = ['eraseTenant', 'suspendTenant', 'closeTenant'];

type FieldError = { pointer: string; code: string; message: string };

const share = openShare();
const p = await createTestPlatform();
const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } });
const agent = created.headers.get('location')!;

const messagesOf = ({ status, body, text }: Answer): [string, string][] => {
  assert.is(status, 422, text);
  return (body as { errors: FieldError[] }).errors.map(({ pointer, message }) => [pointer, message]);
};

test('the error for an invalid value names the allowed range; for a value of a wrong type, it names the right type', async () => {
  for (const limit of ['0', '201', '100000'])
    assert.equal(messagesOf(await p.send('GET', `${p.tenant}/agents?limit=${limit}`)), [['/query/limit', 'must be between 1 and 200']]);
  for (const limit of ['x', '-1', '1.5', '0x10'])
    assert.equal(messagesOf(await p.send('GET', `${p.tenant}/agents?limit=${limit}`)), [
      ['/query/limit', 'must be an integer between 1 and 200'],
    ]);
  const open = (body: Json) => p.send('POST', `/admin/tenants/${p.tenant_id}/break-glass`, { body });
  assert.equal(messagesOf(await open({ reason: '', minutes: 481 })), [
    ['/reason', 'must have 1 to 1024 characters'],
    ['/minutes', 'must be between 1 and 480'],
  ]);
  assert.equal(messagesOf(await p.send('PUT', `${agent}/models`, { body: { model_ids: [] } })), [['/model_ids', 'must have 1 to 5 items']]);
});

share.test('no error contains a phrase of the schema library', async () => {
  const foreign = /Invalid|expected|received|Too (big|small)|Unrecognized/;
  const bodies: unknown[] = [
    {},
    [],
    null,
    'x',
    { name: 1, slug: 1, kind: 'x', description: 1, is_admin_only: 'x', iteration_warn_threshold: 0.5 },
  ];
  const values = [null, 0, -1, 1.5, 1e300, true, 'x', '', [], {}, [1], ['x'.repeat(500)]];
  const { schemas } = openapiDocument<{ components: { schemas: Record<string, Json> } }>().components;
  let count = 0;
  for (const [name, row] of Object.entries(p.operations)) {
    if (!row.body || ENDS_USE.includes(name)) continue;
    const fields = Object.keys((schemas[row.body.meta()?.id as string]?.properties ?? {}) as Json);
    const params: Record<string, string> = { tenant_id: p.tenant_id, agent_id: agent.split('/').at(-1)! };
    const path = row.path.replace(/:([a-z_]+)/g, (_, part: string) => params[part] ?? `c${'0'.repeat(24)}`);
    const all = [...bodies, ...values.map((value) => Object.fromEntries(fields.map((field) => [field, value])))];
    for (const index of share.casesOf([...all.keys()], (one) => `${name} ${one}`)) {
      const body = all[index];
      const answer = await p.send(row.method.toUpperCase(), path, { body });
      if (answer.status !== 422) continue;
      for (const { message } of (answer.body as { errors?: FieldError[] }).errors ?? []) {
        count++;
        assert.not.match(message, foreign, `${name}: ${message}`);
      }
    }
  }
  assert.ok(count > (share.isWhole ? 500 : 50), `${count}`);
  const query = messagesOf(await p.send('GET', `${agent}/diff`));
  assert.equal(query, [['/query/from', 'is missing']]);
  assert.equal(messagesOf(await p.send('GET', `${p.tenant}/agents?kind=x`)), [
    ['/query/kind', 'must be one of user, coding, analyst, dba'],
  ]);
});

test('the errors for an unknown query parameter, an unknown field and a field that cannot be changed differ', async () => {
  assert.equal(messagesOf(await p.send('GET', `${p.tenant}/agents?colour=red`)), [
    ['/query/colour', 'is not a query parameter of this operation'],
  ]);
  assert.equal(messagesOf(await p.send('DELETE', `${agent}?force=1`)), [['/query/force', 'is not a query parameter of this operation']]);
  assert.equal(messagesOf(await p.send('PATCH', agent, { body: { slug: 'other', colour: 'red', constructor: 1 } })), [
    ['/slug', 'cannot be changed'],
    ['/colour', 'is not a field of this request'],
    ['/constructor', 'is not a field of this request'],
  ]);
});

test('the error for a malformed API key differs from the error for a missing one', async () => {
  const detailOf = async (headers: Record<string, string>) => {
    const { status, body } = await p.send('GET', '/me', { key: '', headers });
    assert.is(status, 401);
    return (body as Json).detail as string;
  };
  assert.is(await detailOf({}), 'Send Authorization: Bearer <API key>');
  assert.match(await detailOf({ authorization: 'Basic YTpi' }), /must be: Bearer <API key>/);
  for (const key of [p.key.slice(0, -1), `${p.key}x`, p.key.replace('ann_', 'ANN_'), 'secret'])
    assert.match(await detailOf({ authorization: `Bearer ${key}` }), /not an API key: ann_, 8 letters or digits, _ and 38/);
  const other = (character: string): string => (character === 'a' ? 'b' : 'a');
  for (const at of [4, 13, 30, -6, -1]) {
    const wrong = Array.from(p.key)
      .with(at, other(p.key.at(at)!))
      .join('');
    assert.match(await detailOf({ authorization: `Bearer ${wrong}` }), /its last 6 are check digits, which do not suit the others/, wrong);
  }
});

test('the response to a conflict contains the conflicting value or resource, and a code that says what kind of conflict it is', async () => {
  const invite = () => p.send('POST', `${p.tenant}/members`, { body: { email: 'twice@example.com' } });
  const { user_id } = (await invite()).body as { user_id: string };
  const { status, body } = await invite();
  const { code, errors, ...rest } = body as Json & { errors: FieldError[] };
  assert.equal([status, code, errors[0]!.pointer, errors[0]!.code, rest.user_id], [409, 'conflict', '/email', 'already_member', user_id]);
  const allow = () => p.send('POST', '/admin/allowed-accounts', { body: { email: 'a@example.com' } });
  await allow();
  const again = (await allow()).body as Json & { errors: FieldError[] };
  assert.equal([again.detail, again.errors[0]!.code], ['The address a@example.com is already allowed', 'already_allowed']);
});

test('the OpenAPI document lists If-Match only for operations that change an existing resource', () => {
  const { paths } = openapiDocument<{
    paths: Record<string, Record<string, { operationId: string; parameters?: { $ref?: string }[] }>>;
  }>();
  const withIfMatch = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ parameters }) => parameters?.some(({ $ref }) => $ref === '#/components/parameters/IfMatch'))
    .map(({ operationId }) => operationId);
  for (const creates of ['createTenant', 'issueRunnerCredential', 'createAgent', 'createApiKey', 'registerModel', 'allowAccount'])
    assert.not.ok(withIfMatch.includes(creates), creates);
  for (const changes of ['updateAgent', 'inviteMember', 'grantAgentAccess', 'rotateWebhookSecret', 'openTenant', 'deleteAgent'])
    assert.ok(withIfMatch.includes(changes), changes);
});

afterLastTest(() => p.close());

test.run();
