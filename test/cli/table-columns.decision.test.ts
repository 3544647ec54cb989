import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tableOf } from '../../infra/cli/api/print-table.ts';
import { openapiDocument } from '../fixtures/openapi-document.ts';

type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
};
type Described = { readonly operationId: string; readonly responses: Readonly<Record<string, { readonly content?: object }>> };
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

const { paths, components } = openapiDocument<Document>();
const resolve = (schema: Schema | undefined): Schema | undefined =>
  schema?.$ref ? components.schemas[schema.$ref.split('/').at(-1)!] : schema;
const replyOf = ({ responses }: Described): Schema | undefined =>
  resolve((responses['200']?.content as { 'application/json'?: { schema: Schema } } | undefined)?.['application/json']?.schema);

/** The fields of the items of each list of the API, by the name of its operation. */
const lists = Object.values(paths).flatMap(({ get }) => {
  const fields = get && resolve(replyOf(get)?.items)?.properties;
  return fields ? [{ name: get.operationId, fields }] : [];
});

const ID = `c${'a'.repeat(24)}`;
const typesOf = (schema: Schema): readonly unknown[] => [schema.type ?? [], ...(schema.anyOf ?? []).flatMap(typesOf)].flat();
/** Returns a value of usual width for a field. */
const exampleOf = (field: string, schema: Schema): unknown => {
  if (field === 'id' || field.endsWith('_id')) return ID;
  if (field === 'at' || field.endsWith('_at')) return '2026-11-21T10:00:00.000Z';
  if (typesOf(schema).includes('boolean')) return true;
  if (typesOf(schema).includes('integer') || typesOf(schema).includes('number')) return 12_345;
  return typesOf(schema).includes('string') ? `some ${field}` : { [field]: [field] };
};

const headOf = (rows: readonly Record<string, unknown>[], width: number): string[] =>
  tableOf(rows, { width, names: null }).lines[0]!.toLowerCase().split(/ +/);
const isId = (column: string): boolean => /(^|_)ids?$/.test(column);

test('these tests find more than 50 lists in the API', () => assert.ok(lists.length > 50, String(lists.length)));

for (const { name, fields } of lists)
  test(`a table of 120 characters shows what people need, with ids last: ${name}`, () => {
    const row = Object.fromEntries(Object.entries(fields).map(([field, schema]) => [field, exampleOf(field, schema)]));
    const shown = headOf([row], 120);
    const names = Object.keys(fields);
    const state = names.find((field) => ['status', 'outcome', 'state', 'decision'].includes(field));
    const time = names.some((field) => field === 'at' || field.endsWith('_at'));
    const title = names.find((field) => ['name', 'title', 'label', 'event', 'action', 'type', 'email', 'address'].includes(field));
    if (state) assert.ok(shown.includes(state), `${state} in ${shown}`);
    if (time)
      assert.ok(
        shown.some((field) => field === 'at' || field.endsWith('_at')),
        `a time in ${shown}`,
      );
    if (title) assert.ok(shown.includes(title), `${title} in ${shown}`);
    const id = names.find((field) => field === 'id') ?? names.find((field) => field.endsWith('_id'));
    if (id) assert.ok(shown.includes(id), `${id} in ${shown}`);
    const firstId = shown.findIndex(isId);
    if (firstId >= 0)
      assert.ok(
        shown.slice(firstId).every((field) => isId(field) || !/_at$|name|status/.test(field)),
        `ids last in ${shown}`,
      );
    assert.ok(tableOf([row], { width: 120, names: null }).lines.every((line) => line.length <= 120));
  });

test('a table shows the fields that are named, whole and in this order, and otherwise names those that it does not show', () => {
  const rows = [{ id: 'a', status: 'dead', note: 'n'.repeat(60), created_at: 'now' }];
  assert.equal(tableOf(rows, { width: 10, names: ['note', 'id'] }), {
    lines: [`NOTE${' '.repeat(56)}  ID`, `${'n'.repeat(60)}  a`],
    hidden: [],
  });
  assert.equal(tableOf(rows, { width: 24, names: null }), { lines: ['STATUS  CREATED_AT  ID', 'dead    now         a'], hidden: ['note'] });
  assert.throws(() => tableOf(rows, { width: 24, names: ['none'] }), /There is no column none; there are id, status, note, created_at/);
});

test('a table contains no control characters, leaves out empty columns, and shortens long texts', () => {
  const rows = [
    { id: 'a', name: 'one\u001b[31m', last: null },
    { id: 'bb', name: 'two\u202e', last: null },
  ];
  assert.equal(tableOf(rows, { width: 12, names: null }).lines, ['NAME      ID', 'one [31m  a', 'two       bb']);
  assert.equal(tableOf([], { width: 12, names: null }).lines, []);
  assert.is(tableOf([{ note: 'n'.repeat(60) }], { width: 12, names: null }).lines[1], `${'n'.repeat(39)}…`);
});

test.run();
