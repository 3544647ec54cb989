import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { InvitationAccept } from '../../commands/tenants/invitation.ts';
import { cleanDisplayText, displayText } from '../../domain/fields.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;
type Schema = {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: string | readonly string[];
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
};

const p = await createTestPlatform();

/**
 * Fields that may contain any characters: texts with several lines, and secrets. They are never shown within a line of
 * other text. A field that is such a text in one operation only has the name of the operation before it.
 */
const FREE_TEXTS = [
  'description',
  'description_long',
  'description_prompt',
  'initial_greeting',
  'instructions',
  'prompt',
  'value',
  'ssh_public_key',
  'secret',
  'password',
  'token',
  'content',
  'appendMessage/approval',
  'decideApproval/comment',
  'startSession/message',
  'continueSession/message',
  'summary',
  'error',
  'text',
  'html',
  'reportAttempt/reason',
  'reportAttempt/stderr_tail',
];

const HOSTILE: Readonly<Record<string, string>> = {
  'a line break': 'a\nb',
  'a carriage return': 'a\r\nb',
  'an escape sequence': '\u001b[31mred',
  DEL: 'a\u007fb',
  'a C1 control': 'a\u0085b',
  'a line separator': 'a\u2028b',
  'a paragraph separator': 'a\u2029b',
  'a right-to-left override': 'a\u202eb',
  'a right-to-left mark': 'a\u200fb',
  'a direction isolate': 'a\u2066b',
  'an Arabic letter mark': 'a\u061cb',
  'an unpaired surrogate': 'a\ud800b',
  'many combining marks': `a${'\u0301'.repeat(128)}`,
  'a lone space': ' ',
  'an invisible character': '\u200b',
};

/**
 * Returns the paths of all text fields in a schema that are not limited by a pattern or a list of values. In a path,
 * `0` is each item of a list.
 */
const textPaths = (schema: Schema, path: readonly string[] = [], $defs = schema.$defs ?? {}): (readonly string[])[] => {
  if (schema.$ref) return textPaths($defs[schema.$ref.replace('#/$defs/', '')]!, path, $defs);
  if (schema.anyOf) return schema.anyOf.flatMap((one) => textPaths(one, path, $defs));
  if (schema.items) return textPaths(schema.items, [...path, '0'], $defs);
  if (schema.properties) return Object.entries(schema.properties).flatMap(([name, one]) => textPaths(one, [...path, name], $defs));
  const isFixed = schema.pattern !== undefined || schema.enum !== undefined || schema.const !== undefined;
  return [schema.type].flat().includes('string') && !isFixed ? [path] : [];
};

/** Returns an object or list in which only `leaf` is set, at this path. */
const nested = ([first, ...rest]: readonly string[], leaf: string): unknown => {
  if (first === undefined) return leaf;
  return first === '0' ? [nested(rest, leaf)] : { [first]: nested(rest, leaf) };
};

const isRefusedAt = (schema: z.ZodType, path: readonly string[], text: string): boolean => {
  const { error } = schema.safeParse(nested(path, text));
  return error?.issues.some((issue) => issue.path.join('/') === path.join('/')) ?? false;
};

/** The schemas of all request bodies. Only one of the routes that are not API operations has a body. */
const bodies: [string, { readonly body?: unknown }][] = [...Object.entries(p.operations), ['acceptInvitation', { body: InvitationAccept }]];

const texts = bodies.flatMap(([name, { body }]) =>
  body
    ? textPaths(z.toJSONSchema(body as z.ZodType, { io: 'input' }) as Schema).map((path) => ({ name, body: body as z.ZodType, path }))
    : [],
);

/**
 * Returns the name of the top-level field on this path. If the body is a list, returns the field of the list's items.
 */
const fieldOf = (path: readonly string[]): string => path.find((part) => part !== '0')!;

const isFreeText = ({ name, path }: (typeof texts)[number]): boolean =>
  FREE_TEXTS.includes(fieldOf(path)) || FREE_TEXTS.includes(`${name}/${fieldOf(path)}`);

test('in every request body, text fields refuse hostile characters such as line breaks and direction overrides, except the free-text fields that this test lists', () => {
  const displayed = texts.filter((text) => !isFreeText(text));
  assert.ok(displayed.length > 20, `${displayed.length}`);
  for (const { name, body, path } of displayed)
    for (const [what, text] of Object.entries(HOSTILE))
      assert.ok(isRefusedAt(body, path, text), `${name} accepts ${what} in ${path.join('/')}`);
  for (const field of FREE_TEXTS)
    assert.ok(
      texts.some(({ name, path }) => fieldOf(path) === field || `${name}/${fieldOf(path)}` === field),
      `no request has a field ${field}`,
    );
});

test('names in any language are accepted, with the combining marks and joiners that these languages need', () => {
  const names = ['Müller & Söhne', 'e\u0301te\u0301', 'שָׁלוֹם', 'नमस्ते', '株式会社', 'می\u200cخواهم', '👩\u200d💻 team', '🏴󠁧󠁢󠁥󠁮󠁧󠁿'];
  for (const name of names) assert.ok(displayText(1, 255).safeParse(name).success, name);
});

test('a request with a hostile name gets 422 with a text that says what is wrong, and nothing is stored', async () => {
  const before = p.eventsOf('ApiKeyCreated').length;
  const { status, body } = await p.send('POST', `${p.tenant}/api-keys`, { body: { name: '\u001b[31m\n\u202eevil' } });
  assert.is(status, 422);
  assert.equal(
    (body as { errors: Json[] }).errors.map(({ pointer, message }) => [pointer, message]),
    [['/name', 'must not contain control characters, line breaks or characters that change the direction of text']],
  );
  assert.is(p.eventsOf('ApiKeyCreated').length, before);
});

test('a hostile name that was stored before the API refused such names is still applied by the projections, and is shown', async () => {
  const name = 'old\u202ename\n';
  const ctx = p.systemContext(p.tenant_id);
  const { category } = await import('../../domain/tenants/tenant.ts');
  const meta = { tenant: p.tenant_id, actor: ctx.actor, at: ctx.at(), v: 1 };
  const revision = p.log.events.filter(({ stream }) => stream === `${category}-${p.tenant_id}.${p.tenant_id}`).length - 1;
  await p.log.append(`${category}-${p.tenant_id}.${p.tenant_id}`, revision, [
    { id: crypto.randomUUID(), type: 'TenantSettingsChanged', data: { name }, meta },
  ]);
  await p.waitForProjections();
  assert.equal(p.unappliedEvents(), []);
  assert.is(((await p.send('GET', p.tenant)).body as Json).name, name);
  assert.is(((await p.send('GET', '/admin/tenants')).body as Json[])[0]!.name, name);
});

test('cleaning a text from another system gives a valid text for display, or null if no visible character is left', () => {
  assert.is(cleanDisplayText(' a\u0000b\ud800c\u001b[31m\n\u202ed ', 255), 'a bc [31m d');
  assert.is(cleanDisplayText(`e${'\u0301'.repeat(128)}`, 255), `e${'\u0301'.repeat(8)}`);
  assert.is(cleanDisplayText('👩\u200d💻'.repeat(9_000), 255)!.length < 800, true);
  for (const text of ['', ' ', '\u0000', '\ud800', '\u200b\u202e']) assert.is(cleanDisplayText(text, 255), null, JSON.stringify(text));
  for (const text of [...Object.values(HOSTILE), 'x'.repeat(9_000)]) {
    const cleaned = cleanDisplayText(text, 255);
    assert.ok(cleaned === null || displayText(1, 255).safeParse(cleaned).success, JSON.stringify(cleaned));
  }
});

test('every operation refuses a request with the character NUL in its query or path', async () => {
  let checked = 0;
  const params: Record<string, string> = { tenant_id: p.tenant_id, agent_id: `c${'0'.repeat(24)}` };
  for (const [name, row] of Object.entries(p.operations)) {
    const path = row.path.replace(/:([a-z_]+)/g, (_, part: string) => params[part] ?? '%00');
    const answer = await p.send(row.method.toUpperCase(), path, row.method === 'get' ? {} : { body: {} });
    if (path.includes('%00')) assert.is(answer.status, 404, `${name}: ${answer.text}`);
    if (row.method !== 'get' || path.includes('%00') || path.includes('agents/')) continue;
    for (const query of Object.keys(
      (z.toJSONSchema(row.query ?? z.object({}), { io: 'input', unrepresentable: 'any' }) as Schema).properties ?? {},
    )) {
      const { status, body } = await p.send('GET', `${path}?${query}=a%00b`);
      checked++;
      assert.is(status, 422, `${name} ${query}`);
      assert.is((body as { errors: Json[] }).errors[0]!.pointer, `/query/${query}`);
    }
  }
  assert.ok(checked > 30, `${checked}`);
});

test('an e-mail address is refused if its local part starts or ends with a dot or has two dots in a row', async () => {
  const allow = async (email: string) => (await p.send('POST', '/admin/allowed-accounts', { body: { email } })).status;
  for (const email of ['.a@b.co', 'a.@b.co', 'a..b@b.co', '@b.co', 'a b@b.co']) assert.is(await allow(email), 422, email);
  for (const email of ['a.b@b.co', "o'hara+x@b.co", 'A_1@Sub.Example.com']) assert.is(await allow(email), 201, email);
});

afterLastTest(() => p.close());

test.run();
