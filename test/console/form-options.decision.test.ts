import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf } from '../../api/areas.ts';
import { bodyOf } from '../../api/console/forms/form-body.ts';
import { formFor, oneOfField, oneOfsIn } from '../../api/console/forms/form-layouts.ts';
import { formFields } from '../../api/console/forms/form-sections.ts';
import { LAYOUTS } from '../../api/console/forms/layouts.ts';
import { htmlOf, tags } from '../../api/console/parts/tags.ts';
import { submittedBy } from '../fixtures/html-form.ts';

const operations = operationsOf({} as Parameters<typeof operationsOf>[0]);

/** Each option of each one-of of all layouts, if it has fields. */
const OPTIONS = Object.entries(LAYOUTS).flatMap(([operation, layout]) =>
  oneOfsIn(layout).flatMap(({ name, options }) =>
    options
      .filter(({ fields }) => fields.length > 0)
      .map((option) => ({ operation, name, option, form: formFor(operation, operations[operation]!) })),
  ),
);

type Case = (typeof OPTIONS)[number];

const htmlFor = ({ form, name, option }: Case, value: object): string =>
  htmlOf(tags.form(null, ...formFields(form, value, { errors: new Map(), choices: {}, chosen: { [name]: option.value } })), '');

/** The HTML of the fields of a case's option. */
const optionHtml = (one: Case): string =>
  new RegExp(`role="group" aria-label="${one.option.label}"[\\s\\S]*?</h3>([\\s\\S]*?)(?:role="group" aria-label|</fieldset>)`).exec(
    htmlFor(one, {}),
  )![1]!;

/** Submits the form of a case with its option chosen and all fields filled in, except that `empty` has the text `left`. @returns the refused ones of these */
const refusedBy = (one: Case, empty: string, drawn: object | undefined, left = ''): readonly string[] => {
  const { form, name, option } = one;
  const typed = Object.fromEntries(option.fields.flat().map((field) => [`/${field}`, field === empty ? left : '1']));
  const fields = submittedBy(htmlFor(one, drawn ?? {}), { ...typed, [oneOfField(name)]: option.value });
  const { errors } = bodyOf(form, fields, drawn);
  return errors.filter(({ pointer }) => Object.hasOwn(typed, pointer)).map(({ pointer, message }) => `${pointer} ${message}`);
};

test('a field of a chosen option that stays empty is refused, so that no other option is saved in its place', () => {
  assert.ok(OPTIONS.length >= 9, String(OPTIONS.length));
  for (const one of OPTIONS)
    for (const field of one.option.fields.flat()) {
      const expected = one.option.optional?.includes(field) ? [] : [`/${field} is missing`];
      for (const drawn of [undefined, { [field]: 1 }, { [field]: null }])
        assert.equal(refusedBy(one, field, drawn), expected, `${one.operation} ${one.option.value} ${field} ${JSON.stringify(drawn)}`);
    }
});

/** The fields in which several values can be typed, with their cases. */
const SEVERAL = OPTIONS.flatMap((one) => {
  const fields = one.form.body?.kind === 'group' ? one.form.body.fields : [];
  return fields.filter(({ name, look }) => look.isSeveral && one.option.fields.flat().includes(name)).map(({ name }) => ({ one, name }));
});

test('a field for several values with nothing but separators is refused like an empty one', () => {
  assert.ok(SEVERAL.length > 0);
  for (const { one, name } of SEVERAL)
    for (const left of [',', ' ', ' , ,, ', '\t,\u00a0'])
      assert.equal(refusedBy(one, name, undefined, left), [`/${name} is missing`], left);
});

test('browsers accept several values in a field for several values, each within the limits of one value', () => {
  for (const { one, name } of SEVERAL) {
    const control = new RegExp(`<input[^>]*name="/${name}"[^>]*>`).exec(optionHtml(one))![0];
    assert.not.match(control, /\s(pattern|minlength|maxlength)=/);
  }
});

test('an option is accepted if its fields are filled in', () => {
  for (const one of OPTIONS) assert.equal(refusedBy(one, '', undefined), [], `${one.operation} ${one.option.value}`);
});

test('no required field of an option is marked as optional, and none is required by the browser, as it can be hidden', () => {
  for (const one of OPTIONS) {
    const html = optionHtml(one);
    assert.not.match(html, /class="quiet optional"|\srequired/, `${one.operation} ${one.option.value}`);
  }
});

test.run();
