import { test } from 'uvu';
import { equal, ok } from 'uvu/assert';
import type { JsonObject } from '../../commands/json-schema-validator.ts';
import { jsonSchemaValidator } from '../../infra/json-schema/json-schema-validator.ts';

const { faultOfSchema, faultOfValue } = jsonSchemaValidator();

const codeOf = (schema: JsonObject): string | undefined => faultOfSchema(schema)?.code;

const settings = {
  type: 'object',
  properties: { host: { type: 'string', pattern: '^[a-z.]+$' }, retries: { type: 'integer', maximum: 5 } },
  required: ['host'],
  additionalProperties: false,
};

test('validating a value that matches its schema returns no error', () =>
  equal(faultOfValue(settings, { host: 'a.example', retries: 5 }), null));

test('if a value does not match its schema, the error has a JSON pointer to the wrong part of the value', () => {
  equal(faultOfValue(settings, { host: 'a', retries: 6 }), { pointer: '/retries', code: 'maximum', message: 'must be <= 5' });
  equal(faultOfValue(settings, { host: 'A' })?.pointer, '/host');
  equal(faultOfValue(settings, {})?.code, 'required');
  equal(faultOfValue(settings, { host: 'a', 'a/b': 1 })?.pointer, '/a~1b');
});

test('if a schema has an invalid keyword, the error has a JSON pointer to the keyword', () => {
  equal(faultOfSchema({ type: 'objekt' })?.pointer, '/type');
  equal(faultOfSchema({ properties: { x: { minimum: 'a' } } })?.pointer, '/properties/x/minimum');
});

test('a draft 7 schema is validated by the rules of draft 7; schemas of drafts other than 7 and 2020-12 are refused', () => {
  const tuple = { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'https://a.example/b', items: [{ type: 'string' }] };
  equal(faultOfValue(tuple, [1])?.pointer, '/0');
  equal(faultOfSchema({ items: [{ type: 'string' }] })?.pointer, '/items');
  equal(codeOf({ $schema: 'http://json-schema.org/draft-04/schema#' }), 'unsupported_schema');
});

test('a schema with a $ref to another document is refused; a $ref to a place within the schema is followed', () => {
  equal(codeOf({ $ref: 'https://example.com/schema' }), 'remote_ref');
  equal(codeOf({ properties: { a: { $ref: 'other.json#/x' } } }), 'remote_ref');
  equal(codeOf({ $ref: '#/$defs/missing' }), 'unknown_ref');
  const named = { $defs: { 'a b': { $anchor: 'text', type: 'string' } }, prefixItems: [{ $ref: '#/$defs/a%20b' }, { $ref: '#text' }] };
  equal(faultOfValue(named, ['x', 1])?.pointer, '/1');
  equal(faultOfValue(named, [1])?.pointer, '/0');
  const tree = { properties: { child: { $ref: '#' } }, additionalProperties: false };
  equal(faultOfValue(tree, { child: { child: { other: 1 } } })?.pointer, '/child/child/other');
});

test('objects within enum, const and default are not treated as schemas', () =>
  equal(faultOfSchema({ enum: [{ $ref: 'x', $async: 1 }], const: { $id: 'y' }, default: { pattern: '(' } }), null));

test('a pattern that takes exponential time in backtracking engines is matched without delay', () => {
  const start = performance.now();
  equal(faultOfValue({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(5_000)}!`)?.code, 'pattern');
  equal(faultOfValue({ patternProperties: { '^(a|a)*$': { type: 'string' } } }, { [`${'a'.repeat(5_000)}!`]: 1 }), null);
  ok(performance.now() - start < 2_000);
});

test('a schema is refused if one of its patterns is invalid or too long, or has look-around or a back reference', () => {
  for (const pattern of ['(?=a)', '(?<!a)b', '(a)\\1', '(?<n>a)\\k<n>', '(', '[z-a]', '(?i)a', 'a'.repeat(1_025), '(a{1000}){1000}']) {
    equal(codeOf({ pattern }), 'invalid_pattern', pattern.slice(0, 40));
    equal(codeOf({ patternProperties: { [pattern]: true } }), 'invalid_pattern', pattern.slice(0, 40));
  }
  for (const pattern of ['^\\d{4}-\\d{2}$', '\\p{L}+', 'a\\/b', '\\u0041', '[\\w-]+', '(?<year>\\d+)', 'a'.repeat(1_024)])
    equal(faultOfSchema({ pattern }), null, pattern.slice(0, 40));
});

test('a schema is refused if its patterns together exceed the maximum compiled size', () =>
  equal(codeOf({ allOf: Array.from({ length: 500 }, () => ({ pattern: '^.{1,1000}$' })) }), 'too_complex'));

/**
 * Returns a short schema with 40 levels. Each level refers twice to the next one, so a naive check of the schema would
 * take 2^40 steps.
 */
const doubling = (): JsonObject => {
  const twice = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] });
  const parts = Array.from({ length: 40 }, (_, level) => [`a${level}`, twice(`a${level + 1}`)]);
  return { $defs: Object.fromEntries([...parts, ['a40', { type: 'object' }]]), $ref: '#/$defs/a0' };
};

test('a validation that would take exponential time, or would never end, is stopped', () => {
  const start = performance.now();
  equal(faultOfValue(doubling(), {})?.code, 'too_complex');
  const perLevel = { properties: { a: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } };
  let nested: JsonObject = {};
  for (let depth = 0; depth < 60; depth++) nested = { a: nested };
  equal(faultOfValue(perLevel, nested)?.code, 'too_complex');
  equal(faultOfValue({ $ref: '#' }, {})?.code, 'too_complex');
  equal(faultOfValue({ pattern: '^[^b]{1,1000}$' }, 'a'.repeat(60_000))?.code, 'too_complex');
  ok(performance.now() - start < 5_000);
});

test('uniqueItems ignores the order of the fields of objects, and its time is proportional to the size of the items', () => {
  const start = performance.now();
  const items = Array.from({ length: 15_000 }, (_, index) => ({ index }));
  equal(faultOfValue({ uniqueItems: true }, items), null);
  equal(
    faultOfValue({ uniqueItems: true }, [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ])?.code,
    'uniqueItems',
  );
  equal(faultOfValue({ uniqueItems: false }, [1, 1]), null);
  ok(performance.now() - start < 2_000);
});

test('a schema with the maximum number of subschemas is accepted; with one subschema more, it is refused', () => {
  const withParts = (count: number) => ({ properties: Object.fromEntries(Array.from({ length: count - 1 }, (_, i) => [`p${i}`, {}])) });
  equal(faultOfSchema(withParts(500)), null);
  equal(codeOf(withParts(501)), 'too_complex');
});

test('a schema of the maximum length is accepted; with one character more, it is refused', () => {
  const ofLength = (length: number) => ({ description: 'a'.repeat(length - '{"description":""}'.length) });
  equal(faultOfSchema(ofLength(65_536)), null);
  equal(codeOf(ofLength(65_537)), 'too_big');
});

test('a schema that is nested more than 32 levels deep is refused', () => {
  const nestedIn = (levels: number) => Array.from({ length: levels }).reduce<JsonObject>((inner) => ({ not: inner }), {});
  equal(faultOfSchema(nestedIn(32)), null);
  equal(codeOf(nestedIn(33)), 'too_deep');
});

test('a schema with many $refs to large subschemas is refused, because each $ref compiles its target again', () => {
  const leaves = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`p${index}`, {}]));
  let part: JsonObject = { properties: leaves };
  for (let level = 0; level < 20; level++) part = { not: part };
  const refs = Array.from({ length: 20 }, (_, level) => ({ $ref: `#/$defs/a${'/not'.repeat(level)}` }));
  equal(codeOf({ $defs: { a: part }, anyOf: refs }), 'too_complex');
});

test('a schema with keywords that would make it asynchronous, dynamic or another document is refused', () => {
  for (const keyword of ['$async', '$dynamicRef', '$recursiveRef', 'id'])
    ok(faultOfSchema({ properties: { a: { [keyword]: '#' } } }), `${keyword} was accepted`);
  equal(codeOf({ properties: { a: { $id: 'x' } } }), 'unsupported_keyword');
  equal(faultOfSchema({ properties: { id: { type: 'string' }, $id: { type: 'string' } } }), null);
});

test('names that all JavaScript objects inherit, such as toString, are not treated as fields of a value', () => {
  equal(faultOfValue({ required: ['constructor'] }, {})?.code, 'required');
  equal(faultOfValue({ properties: { toString: { type: 'number' } } }, {}), null);
});

test('no text in a schema is executed as code', () => {
  const text = '"];globalThis.hasRun=true;//';
  faultOfValue({ properties: { [text]: { const: `\${globalThis.hasRun=true}` } }, required: [text], enum: [text] }, { [text]: 1 });
  equal('hasRun' in globalThis, false);
});

test.run();
