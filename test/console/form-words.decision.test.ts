import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf } from '../../api/areas.ts';
import { type Field, topFields } from '../../api/console/forms/form.ts';
import { hasConsequence, isDangerous } from '../../api/console/forms/form-acts.ts';
import { bodyOf } from '../../api/console/forms/form-body.ts';
import { formFor, oneOfField, oneOfsIn } from '../../api/console/forms/form-layouts.ts';
import { type DrawnForm, formPage } from '../../api/console/forms/form-page.ts';
import { MAX_MARKS } from '../../api/console/forms/form-sections.ts';
import { LAYOUTS } from '../../api/console/forms/layouts.ts';
import { htmlOf, tags } from '../../api/console/parts/tags.ts';
import { jsonContentOf } from '../../api/http/example.ts';
import { isRead, type Operation } from '../../api/http/operation.ts';
import { submittedBy } from '../fixtures/html-form.ts';

const operations = operationsOf({} as Parameters<typeof operationsOf>[0]);
const changes = Object.entries(operations).filter(([, row]) => !isRead(row));

/** Returns the HTML of the page of a form, with these values. */
const pageOf = (operation: string, row: Operation, value?: unknown): string => {
  const form = formFor(operation, row);
  const drawn: DrawnForm = {
    ...{ operation, row, form, params: {}, subject: 'Reviewer', value, query: {}, drawn: undefined, etag: null, key: 'k' },
    ...{ returnTo: null, next: null, choices: {}, errors: [], problem: null, companion: null, preview: null, panel: null },
    ...{ zone: 'UTC', extra: null, chosen: {}, path: '' },
  };
  return htmlOf(tags.main(null, ...formPage(drawn)), '/assets');
};

/** Returns the texts that a page shows or reads out. Typed values are not among them. */
const textsOf = (html: string): readonly string[] => [
  ...html
    .replaceAll(/<textarea[\s\S]*?<\/textarea>/g, '')
    .split(/<[^>]*>/)
    .map((text) => text.trim())
    .filter((text) => text !== ''),
  ...[...html.matchAll(/ (?:placeholder|title|aria-label)="([^"]*)"/g)].map(([, text]) => text!),
];

const OF_API = /`|\bnull\b|\babsent\b|\bomitted\b|[a-z0-9]_[a-z0-9]/i;

test('no form shows a backtick, "null", "absent", "omitted" or a name with underscores', () => {
  assert.ok(changes.length > 100);
  const wrong = changes.flatMap(([operation, row]) =>
    textsOf(pageOf(operation, row, exampleOf(row)))
      .concat(textsOf(pageOf(operation, row)))
      .filter((text) => OF_API.test(text))
      .map((text) => `${operation}: ${text}`),
  );
  assert.equal([...new Set(wrong)], []);
});

test('every id of a form is unique on its page', () => {
  for (const [operation, row] of changes) {
    const ids = [...pageOf(operation, row, exampleOf(row)).matchAll(/ id="([^"]*)"/g)].map(([, id]) => id!);
    assert.equal(ids, [...new Set(ids)], operation);
  }
});

const exampleOf = (row: Operation): unknown => (row.body ? jsonContentOf(row.body, 'input', {})['application/json'].example : undefined);

/** Returns the pointers of all controls that a field has in a form. */
const pointersOf = (field: Field): readonly string[] => {
  if (field.kind !== 'group') return [field.pointer];
  return field.fields.flatMap((one) => pointersOf(one));
};

test('every field of every operation has a control in its form, or is set by an option', () => {
  const missing = changes.flatMap(([operation, row]) => {
    const html = pageOf(operation, row);
    const form = formFor(operation, row);
    const set = new Set(
      (form.layout ? oneOfsIn(form.layout) : []).flatMap(({ options }) => options.flatMap(({ sets }) => Object.keys(sets ?? {}))),
    );
    const inBody = topFields(form)
      .filter(({ name }) => !set.has(name))
      .flatMap(pointersOf);
    return [...inBody, ...form.query.map(({ name }) => `?${name}`), ...form.path.map((name) => `:${name}`)]
      .filter((pointer) => !html.includes(`data-pointer="${pointer}"`))
      .map((pointer) => `${operation} ${pointer}`);
  });
  assert.equal(missing, []);
});

test('each layout names only fields of its operation, and uses only marks for which there are styles', () => {
  for (const [operation, layout] of Object.entries(LAYOUTS)) {
    const names = new Set(topFields(formFor(operation, operations[operation]!)).map(({ name }) => name || 'items'));
    const inLayout = [...Object.keys(layout.fields ?? {}), ...Object.keys(layout.shownIf ?? {})];
    assert.equal(
      inLayout.filter((name) => !names.has(name)),
      [],
      operation,
    );
    const marks = oneOfsIn(layout).flatMap(({ options }) => options).length + Object.keys(layout.shownIf ?? {}).length;
    assert.ok(marks <= MAX_MARKS, operation);
  }
});

/** Returns a value as forms send it: times with milliseconds. */
const asSent = (value: unknown): unknown =>
  typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T.*Z$/.test(value) ? new Date(value).toISOString() : value;

test('a form with a layout, filled with the example of its operation, submits a body that the operation accepts', () => {
  let compared = 0;
  for (const operation of Object.keys(LAYOUTS)) {
    const row = operations[operation]!;
    const example = exampleOf(row) as Readonly<Record<string, unknown>>;
    if (Array.isArray(example)) continue;
    const typed: Readonly<Record<string, string>> =
      typeof example.secret === 'string' ? { '/secret': example.secret, [oneOfField('secret')]: 'pasted' } : {};
    const fields = submittedBy(pageOf(operation, row, example), typed);
    fields.set(':agent_id', String(example.target ?? ''));
    const { value, errors } = bodyOf(formFor(operation, row), fields, undefined);
    assert.equal(errors, [], operation);
    const parsed = row.body!.safeParse(value);
    assert.ok(parsed.success, `${operation} ${JSON.stringify(value)} ${parsed.error}`);
    const sent = Object.keys(value as object).filter((name) => Object.hasOwn(example, name));
    for (const name of sent) assert.equal((value as typeof example)[name], asSent(example[name]), `${operation} ${name}`);
    compared += sent.length;
  }
  assert.ok(compared > 20, String(compared));
});

test('every operation that removes or disables something says what happens, to the named object', () => {
  const dangerous = changes.map(([operation]) => operation).filter(isDangerous);
  assert.ok(dangerous.length > 25);
  assert.equal(
    dangerous.filter((operation) => !hasConsequence(operation)),
    [],
  );
  assert.match(pageOf('removeMember', operations.removeMember!), /data-consequence[\s\S]*<strong>Reviewer<\/strong> loses every role/);
});

test('the button of a form is not the title of its page again', () => {
  for (const [operation, row] of changes) {
    const html = pageOf(operation, row);
    const title = /<h1>([^<]*)</.exec(html)![1]!;
    const act = /data-act=""[^>]*>([^<]*)</.exec(html)![1]!;
    assert.is.not(act, title, operation);
  }
});

test.run();
