// share

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type BodyProbe, bodyProbes, minimalValue, typeOf, withoutNull } from '../fixtures/boundary-values.ts';
import type { Schema } from '../fixtures/json-schema.ts';
import { openShare } from '../fixtures/share.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { bodyFor } from '../two-tenants/id-positions.ts';
import { type Problem, pointersOf, startValidCalls, UNKNOWN, WHO } from '../two-tenants/valid-calls.ts';

const share = openShare();
const { callerOf, calls, callsWithBody, dataset, document, eventCount, idsInBody, pathOf, schemas, send } = await startValidCalls();
afterLastTest(() => dataset.close());

/** Fields whose values must fulfil a further rule that JSON Schema cannot describe, each with this rule. */
const SEMANTIC_FIELDS: Readonly<Record<string, string>> = {
  working_hours_tz: 'must be a time zone',
  timezone: 'must be a time zone',
  start_time: 'must be a time of day or a date-time',
  url: 'must be a URL without credentials',
  external_links: 'must have URLs with known placeholders',
  secret: 'must have at least 24 bytes, unless the provider issues it',
};

const pointerOf = (path: readonly string[]): string => `/${path.join('/')}`;
const isAtOrBelow = (pointer: string, place: string): boolean => pointer === place || pointer.startsWith(`${place}/`);

/** Returns the body with `value` at this path. Missing objects and lists on the path are created. */
const withValue = (unresolved: Schema, body: unknown, [first, ...rest]: readonly string[], value: unknown): unknown => {
  if (first === undefined) return value;
  const schema = withoutNull(unresolved, schemas);
  if (typeOf(schema) === 'array') {
    const [item, ...others] = Array.isArray(body) && body.length > 0 ? body : [minimalValue(schema.items!, schemas)];
    return [withValue(schema.items!, item, rest, value), ...others];
  }
  const field = schema.properties?.[first] ?? (schema.additionalProperties as Schema);
  const inner = (body as Record<string, unknown>)[first] ?? minimalValue(field, schemas);
  return { ...(body as object), [first]: withValue(field, inner, rest, value) };
};

/**
 * Adds an unknown field to the body, so that every request is refused with 422 and changes nothing. The other errors in
 * the response show which other fields are invalid.
 */
const withUnknownField = (body: unknown): unknown =>
  Array.isArray(body) ? [{ ...(body[0] as object), [UNKNOWN]: 1 }, ...body.slice(1)] : { ...(body as object), [UNKNOWN]: 1 };
/** Matches the fields of a guardrail rule whose allowed values depend on the kind of the rule. */
const OF_GUARDRAIL_RULE = /^rules$|(?:^|\/)0\/(?:options|action)(?:\/|$)/;
const isSemantic = ({ path }: BodyProbe): boolean => path.some((name) => name in SEMANTIC_FIELDS) || OF_GUARDRAIL_RULE.test(path.join('/'));

/**
 * Returns whether the value contains a character that some text fields refuse. JSON Schema cannot describe these
 * characters.
 */
const hasUnsafeCharacter = ({ value }: BodyProbe): boolean => typeof value === 'string' && /[\n\u202e]/.test(value);

/**
 * Describes what is wrong with the response to a probe, which also has an unknown field. @returns null if nothing is
 * wrong
 */
const faultOf = (probe: BodyProbe, answer: Answer): string | null => {
  const { status, text } = answer;
  const place = pointerOf(probe.path);
  if (status !== 422) return `has the status ${status}: ${text.slice(0, 300)}`;
  // Each probe also adds an unknown field. In a list, the error about that field is below the path of the item, even if
  // the item itself is valid. Ignore such an error.
  const isOfProbe = (pointer: string) => !(probe.isValid && pointer.endsWith(`/${UNKNOWN}`));
  const found = pointersOf(answer).some((pointer) => isOfProbe(pointer) && isAtOrBelow(pointer, place));
  if (!probe.isValid && !found) return `is not refused: ${text.slice(0, 300)}`;
  return probe.isValid && found && !isSemantic(probe) && !hasUnsafeCharacter(probe) ? `is refused: ${text.slice(0, 300)}` : null;
};

share.test('every field of every request body accepts exactly the values that its schema in the OpenAPI document allows', async () => {
  const before = eventCount();
  const faults: string[] = [];
  const cases = callsWithBody.flatMap(({ call, schema }) => bodyProbes(schema, schemas).map((probe) => ({ call, schema, probe })));
  const [accepted, refused] = [true, false].map((isValid) => cases.filter(({ probe }) => probe.isValid === isValid).length);
  assert.ok(accepted! > 1_000 && refused! > 2_000, `${accepted} values are valid, ${refused} are not`);
  const nameOf = ({ call, probe }: (typeof cases)[number]) => `${call.operationId} ${pointerOf(probe.path)} ${probe.label}`;
  for (const one of share.casesOf(cases, nameOf, ({ call, probe }) => `${call.operationId} ${probe.isValid}`)) {
    const { call, schema, probe } = one;
    const base = bodyFor(document, call, idsInBody(call));
    const fault = faultOf(probe, await send(call, withUnknownField(withValue(schema, base, probe.path, probe.value))));
    if (fault) faults.push(`${nameOf(one)} ${fault}`);
  }
  assert.equal(faults, []);
  assert.is(eventCount(), before);
});

/** Operations that are left out, because they would remove resources or permissions that later requests need. */
const FINAL_OPERATIONS = [
  'completeSession',
  'failSession',
  'cancelSession',
  'closeTenant',
  'eraseTenant',
  'suspendTenant',
  'updateUser',
  'transferAgentOwnership',
  'changeMemberRole',
  'deleteAgent',
];

const EXTREMES = [
  ['min', 'a'],
  ['max', 'a'],
  ['max', '😀'],
  ['max', '語'],
] as const;

/**
 * Returns a text of the minimum or maximum length that a text field allows. Returns undefined for fields with a pattern
 * and for other types.
 */
const extremeText = (unresolved: Schema, extreme: 'min' | 'max', unit: string): string | undefined => {
  const { minLength, maxLength, pattern, format, enum: values, ...schema } = withoutNull(unresolved, schemas);
  if (typeOf(schema) !== 'string' || pattern || format || values || maxLength === undefined) return undefined;
  return unit.repeat(extreme === 'min' ? (minLength ?? 0) : maxLength);
};

const withExtremes = (schema: Schema, base: object, extreme: 'min' | 'max', unit: string): Record<string, unknown> => {
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const { minimum, maximum } = withoutNull(field, schemas);
    const number = extreme === 'min' ? minimum : maximum;
    const value = extremeText(field, extreme, unit) ?? number;
    return value === undefined || name in SEMANTIC_FIELDS ? [] : [[name, value]];
  });
  return { ...base, ...Object.fromEntries(fields) };
};

share.test(
  'a request in which all texts and numbers have their smallest or largest values succeeds, or is refused for a reason other than these limits',
  async () => {
    const succeeded = new Set<string>();
    const tried = callsWithBody.filter(({ call, schema }) => !FINAL_OPERATIONS.includes(call.operationId) && typeOf(schema) === 'object');
    const cases = tried.flatMap(({ call, schema }) => EXTREMES.map(([extreme, unit]) => ({ call, schema, extreme, unit })));
    const nameOf = ({ call, extreme, unit }: (typeof cases)[number]) => `${call.operationId} ${extreme} ${unit}`;
    for (const one of share.casesOf(cases, nameOf, ({ call }) => call.operationId)) {
      const { call, schema, extreme, unit } = one;
      const body = withExtremes(schema, bodyFor(document, call, idsInBody(call)) as object, extreme, unit);
      const answer = await send(call, body);
      const at = `${nameOf(one)}: ${answer.status} ${answer.text.slice(0, 300)}`;
      assert.ok(answer.status < 500 || (answer.body as Problem).code === 'not_configured', at);
      if (answer.status < 300) succeeded.add(call.operationId);
      if (answer.status !== 422) continue;
      const errors = (answer.body as { errors?: { pointer: string; code: string }[] }).errors ?? [];
      assert.equal(
        errors.filter(({ code }) => /^(too_|invalid_)/.test(code)),
        [],
        at,
      );
    }
    assert.ok(succeeded.size > tried.length * (share.from === 0 && share.to < 100 ? 0.5 : 0.7), `${succeeded.size} of ${tried.length}`);
  },
);

share.test(
  'a request gets 422 if a required field is missing or a field is unknown or set only by the server; the errors point to these fields',
  async () => {
    const before = eventCount();
    const serverFields = ['id', 'tenant_id', 'is_seed', 'created_at', 'updated_at', 'is_super_admin', '__proto__', 'constructor'];
    for (const { call, schema } of callsWithBody) {
      const base = bodyFor(document, call, idsInBody(call)) as object;
      for (const name of share.casesOf(schema.required ?? [], (one) => `${call.operationId} without ${one}`)) {
        const rest = omit(base as Record<string, unknown>, name);
        const answer = await send(call, withUnknownField(rest));
        assert.is(answer.status, 422, `${call.operationId} without ${name}: ${answer.text}`);
        assert.ok(pointersOf(answer).includes(`/${name}`), `${call.operationId} without ${name}: ${answer.text}`);
      }
      if (Array.isArray(base)) continue;
      const unknown = serverFields.filter((one) => !(one in (schema.properties ?? {})));
      for (const name of share.casesOf(unknown, (one) => `${call.operationId} with ${one}`)) {
        const body = `${JSON.stringify(base).slice(0, -1)}${Object.keys(base).length > 0 ? ',' : ''}"${name}":"x"}`;
        const answer = await dataset.send(call.method, pathOf(call), { key: dataset.keys[await callerOf(call)], raw: body });
        assert.is(answer.status, 422, `${call.operationId} with ${name}: ${answer.text}`);
        assert.ok(name === '__proto__' || pointersOf(answer).includes(`/${name}`), `${call.operationId} with ${name}: ${answer.text}`);
      }
    }
    assert.is(eventCount(), before);
  },
);

const WRONG_BODIES = Object.entries({ '{': 400, '{"a":1}}': 400, null: 422, true: 422, '"x"': 422, '1': 422 });

share.test('every operation with a body refuses a request whose body has another content type or is not an object', async () => {
  const before = eventCount();
  const types = [
    'text/plain',
    'application/json; charset=utf-16',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    '',
  ];
  for (const { call, schema } of callsWithBody) {
    const key = dataset.keys[await callerOf(call)];
    const raw = JSON.stringify(bodyFor(document, call, idsInBody(call)));
    for (const type of share.casesOf(types, (one) => `${call.operationId} ${one}`)) {
      const { status, text } = await dataset.send(call.method, pathOf(call), { key, raw, headers: { 'content-type': type } });
      assert.is(status, 415, `${call.operationId} ${type}: ${text}`);
    }
    for (const [body, expected] of share.casesOf(WRONG_BODIES, ([one]) => `${call.operationId} ${one}`)) {
      const { status, text } = await dataset.send(call.method, pathOf(call), { key, raw: body });
      assert.is(status, expected, `${call.operationId} ${body}: ${text}`);
    }
    const other = typeOf(schema) === 'array' ? '{}' : '[]';
    const { status, text } = await dataset.send(call.method, pathOf(call), { key, raw: other });
    assert.is(status, 422, `${call.operationId} ${other}: ${text}`);
  }
  assert.is(eventCount(), before);
});

test('an operation with a multipart body refuses other content types, and bodies with too many parts, a part without a name or a repeated part', async () => {
  const before = eventCount();
  const multipart = calls.filter(({ requestBody }) => requestBody && 'multipart/form-data' in requestBody.content);
  const part = (disposition: string): string => `--x\r\nContent-Disposition: form-data${disposition}\r\n\r\na\r\n`;
  const form = (...parts: string[]): [string, string] => ['multipart/form-data; boundary=x', `${parts.join('')}--x--\r\n`];
  for (const call of multipart) {
    const [field = 'upload'] = Object.keys(call.requestBody!.content['multipart/form-data']!.schema.properties ?? {});
    const upload = part(`; name="${field}"; filename="a.bin"`);
    const wrong: [string, string][] = [
      ['application/json', '{}'],
      ['text/plain', 'a'],
      ['multipart/form-data', upload],
      form(),
      form(part('')),
      form(upload, upload),
      form(upload, part('; name="zz_unknown"')),
      form(...Array.from({ length: 1_000 }, (_, index) => part(`; name="f${index}"`))),
      ['multipart/form-data; boundary=x', upload],
    ];
    for (const [type, raw] of wrong) {
      const headers = { 'content-type': type };
      const sent = WHO.map((who) => dataset.send(call.method, pathOf(call), { key: dataset.keys[who], raw, headers }));
      // All callers send the request, and at least one of them may use the operation. The others get 403 or 404 before
      // the body is read.
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      const answered = statuses.filter((status) => ![403, 404].includes(status));
      assert.ok(answered.length > 0, `${call.operationId}: ${statuses}`);
      const expected = type.startsWith('multipart/') ? [400, 413, 422] : [415];
      assert.ok(
        answered.every((status) => expected.includes(status)),
        `${call.operationId} ${type} ${raw.slice(0, 80)}: ${statuses}`,
      );
    }
  }
  assert.ok(multipart.length > 0);
  assert.is(eventCount(), before);
});

test('the projections have applied every event of these requests', () => assert.equal(dataset.unappliedEvents(), []));

test.run();
