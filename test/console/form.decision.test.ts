import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf } from '../../api/areas.ts';
import { patternFor } from '../../api/console/forms/field-pattern.ts';
import { type Field, formOf, topFields } from '../../api/console/forms/form.ts';
import { bodyOf } from '../../api/console/forms/form-body.ts';
import { errorList, errorMap, type FieldErrors } from '../../api/console/forms/form-errors.ts';
import { bodyFields } from '../../api/console/forms/form-fields.ts';
import { formFor } from '../../api/console/forms/form-layouts.ts';
import { formFields } from '../../api/console/forms/form-sections.ts';
import { assetUrl, element, htmlOf, tags } from '../../api/console/parts/tags.ts';
import { jsonContentOf } from '../../api/http/example.ts';
import { isRead, type Operation } from '../../api/http/operation.ts';
import { submittedBy } from '../fixtures/html-form.ts';

const operations = operationsOf({} as Parameters<typeof operationsOf>[0]);
const CHOICES = { agent_id: [['c000000000000000000000001', 'Reviewer']] } as const;
const withBody = Object.entries(operations).filter(([, row]) => !isRead(row) && row.body !== undefined);

/** Returns the HTML of an operation's form, filled in with this value. */
const drawn = (row: Operation, value: unknown): string =>
  htmlOf(tags.form(null, ...bodyFields(formOf(row).body, value, { errors: new Map(), choices: {} })), '/assets');

const exampleOf = (row: Operation): unknown => jsonContentOf(row.body!, 'input', {})['application/json'].example;

test('a form that is filled with the example of its operation submits exactly that example', () => {
  assert.ok(withBody.length > 70);
  for (const [operation, row] of withBody) {
    const example = exampleOf(row);
    // The platform never sends a secret to the browser, so the user has to type it.
    const typed = Object.fromEntries(
      topFields(formOf(row)).flatMap(({ isSecret, name, kind, pointer }) => {
        const value = (example as Record<string, unknown>)[name];
        return isSecret && value !== undefined ? [[pointer, kind === 'json' ? JSON.stringify(value) : String(value)]] : [];
      }),
    );
    const fields = submittedBy(drawn(row, example), typed);
    const { value, errors } = bodyOf(formOf(row), fields, example);
    assert.equal(errors, [], operation);
    assert.equal(value, example, operation);
  }
});

test('an empty form submits no field for which the API has a default', () => {
  for (const [operation, row] of withBody) {
    const { value } = bodyOf(formOf(row), submittedBy(drawn(row, undefined)), undefined);
    const required = topFields(formOf(row)).filter(({ isRequired }) => isRequired);
    const names = Array.isArray(value) ? [] : Object.keys(value as object);
    assert.equal(
      names.filter((name) => !required.some((field) => field.name === name)),
      [],
      operation,
    );
  }
});

test('each form field has a label and the JSON pointer of its field in the request body', () => {
  for (const [operation, row] of withBody)
    for (const field of topFields(formOf(row)).filter(({ pointer }) => pointer !== '')) {
      const html = drawn(row, undefined);
      assert.ok(html.includes(field.label), `${operation} ${field.name}`);
      assert.ok(html.includes(`data-pointer="${field.pointer}"`), `${operation} ${field.name}`);
    }
});

/** Returns a value for a field that has one item in each list of rows, so that the form shows the fields of an item. */
const withRows = (field: Field): unknown =>
  field.kind === 'rows'
    ? [withRows(field.item)]
    : field.kind === 'group'
      ? Object.fromEntries(field.fields.map((one) => [one.name, withRows(one)]))
      : undefined;

test('each field of each form has exactly one element to which the list of its errors leads', () => {
  for (const [operation, row] of withBody) {
    const form = formFor(operation, row);
    const drawnWith = (errors: FieldErrors): string => {
      const fields = formFields(form, withRows(form.body!), { errors: errorMap(errors), choices: CHOICES });
      return htmlOf(tags.form(null, errorList({ problem: null, errors, form, path: '' }), ...fields), '/assets');
    };
    const pointers = [...drawnWith([]).matchAll(/data-pointer="([^"]+)"/g)].map(([, pointer]) => pointer!);
    assert.ok(pointers.length > 0, operation);
    const html = drawnWith(pointers.map((pointer) => ({ pointer, message: 'is wrong' })));
    const links = [...html.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id!);
    assert.is(links.length, pointers.length, operation);
    for (const [index, id] of links.entries()) assert.is(html.split(` id="${id}"`).length, 2, `${operation} ${pointers[index]}`);
  }
});

const update = operations.updateAgent!;

test('emptying a nullable field submits null; a field that was null and is still empty stays null', () => {
  const before = { description: 'Reviews', voice: null, name: 'Reviewer' };
  const fields = submittedBy(drawn(update, before), { '/description': '' });
  assert.equal(bodyOf(formOf(update), fields, before).value, { description: null, voice: null, name: 'Reviewer' });
});

test('line endings that the browser has changed do not count as a change of the field', () => {
  const before = { description: 'one\r\ntwo' };
  const fields = submittedBy(drawn(update, before), { '/description': 'one\r\ntwo' });
  assert.equal(bodyOf(formOf(update), fields, before).value, before);
});

test('an invalid number is submitted as typed, so that the API reports its field', () => {
  const fields = submittedBy(drawn(update, {}), { '/iteration_warn_threshold': 'many' });
  assert.equal(bodyOf(formOf(update), fields, undefined).value, { iteration_warn_threshold: 'many' });
});

test('an input that is not valid JSON is reported at its field, and is kept', () => {
  const row = operations.registerTool!;
  const fields = submittedBy(drawn(row, {}), { '/input_schema': '{"type":' });
  const { value, errors } = bodyOf(formOf(row), fields, undefined);
  assert.equal(errors, [{ pointer: '/input_schema', message: 'is not JSON' }]);
  assert.is((value as { input_schema: unknown }).input_schema, '{"type":');
});

test('invisible characters in a value are kept in its form field, but the source of the page shows them', () => {
  const description =
    'right\u202eleft\u2066 zero\u200bwidth\ufeff bell\u0007\u001b[31m delete\u007f line\u2028 nel\u0085 tag\u{e0041}\ttab\nline';
  const before = { description, name: 'a' };
  const html = drawn(update, before);
  assert.equal(bodyOf(formOf(update), submittedBy(html), before).value, before);
  assert.not.match(html, /(?![\t\n\x80-\x9f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
});

test('the HTML of a form never contains a secret, even if the form is given the value', () => {
  const html = drawn(operations.storeDatabaseCredential!, { database: 'orders', password: 'hunter22' });
  assert.match(html, /type="password"/);
  assert.not.match(html, /hunter22/);
});

test('texts and attribute values are escaped, and no value from outside can be an element or the path of the assets', () => {
  const hostile = `<b title="x">'&\u202e</b>`;
  const shown = '&lt;b title=&quot;x&quot;&gt;&#39;&amp;';
  const html = htmlOf(
    tags.p({ title: hostile, 'data-copied': hostile, hidden: true, 'aria-hidden': false, 'data-none': null }, hostile, [1, null, false]),
    '/assets',
  );
  assert.is(
    html,
    `<p title="${shown}⟦U+202E⟧&lt;/b&gt;" data-copied="${shown}&#x202E;&lt;/b&gt;" hidden="" aria-hidden="false">${shown}⟦U+202E⟧&lt;/b&gt;1</p>`,
  );
  assert.is(htmlOf(element('x-y', { 'data-a': '<assets>' }, '<assets>'), '/assets'), '<x-y data-a="&lt;assets&gt;">&lt;assets&gt;</x-y>');
  assert.is(htmlOf(tags.textarea(null, '\u202e<'), '/assets'), '<textarea>&#x202E;&lt;</textarea>');
  assert.is(htmlOf(tags.input({ spellcheck: false, required: false }), '/assets'), '<input spellcheck="false"/>');
  assert.is(htmlOf(element('use', { href: assetUrl('icons.svg#x') }), '/at/"1"'), '<use href="/at/&quot;1&quot;/icons.svg#x"></use>');
  assert.throws(() => element('p', { 'a="b" onclick': '1' }), /cannot be the name/);
  const fromJson = JSON.parse('{"html":"<script>","Symbol(html)":"<script>"}') as never;
  assert.throws(() => htmlOf(tags.p(null, fromJson), ''));
});

test('the pattern of a field is one that browsers accept, or is left out', () => {
  assert.is(patternFor('^[a-z0-9][a-z0-9-]{0,63}$'), '^[a-z0-9][a-z0-9\\-]{0,63}$');
  assert.ok(new RegExp(patternFor('^[A-Za-z0-9 -]{1,255}$')!, 'v').test('a name-1'));
  assert.is(patternFor('^[a&&b(]$'), null);
  assert.is(patternFor(null), null);
});

test.run();
