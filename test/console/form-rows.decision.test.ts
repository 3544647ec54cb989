import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf } from '../../api/areas.ts';
import { bodyOf } from '../../api/console/forms/form-body.ts';
import { formFor } from '../../api/console/forms/form-layouts.ts';
import { withRowsEdited } from '../../api/console/forms/form-rows.ts';
import { formFields } from '../../api/console/forms/form-sections.ts';
import { htmlOf, tags } from '../../api/console/parts/tags.ts';
import { GUARDRAIL_KINDS, GuardrailRules } from '../../domain/guardrails/guardrail-rule.ts';
import { DETECTORS } from '../../domain/redaction/detectors.ts';
import { submittedBy } from '../fixtures/html-form.ts';

const operations = operationsOf({} as Parameters<typeof operationsOf>[0]);
const form = formFor('replaceGuardrails', operations.replaceGuardrails!);

type Rule = { readonly name: string; readonly kind: string; readonly options: Readonly<Record<string, unknown>>; readonly action: string };

const rule = (name: string, kind: string, options: Rule['options']): Rule => ({ name, kind, options, action: 'block' });

/** A rule of each kind, with each of the options that exclude each other. */
const RULES: readonly Rule[] = [
  rule('size', 'size', { max_bytes: 10 }),
  rule('only', 'event_filter', { allow: ['push', 'issues'] }),
  rule('not', 'event_filter', { deny: ['star'] }),
  rule('path', 'json_path', { path: '$.a', when: 'absent' }),
  rule('present', 'json_path', { path: '$.b' }),
  rule('text', 'pattern', { pattern: 'AKIA' }),
  rule('found', 'pattern', { detectors: [DETECTORS[0]] }),
  rule('model', 'injection', {}),
  rule('often', 'rate', { max: 5, per_seconds: 60 }),
  rule('chain', 'loop', { max_depth: 3 }),
];

const submittedWith = (rules: readonly Rule[], typed: Readonly<Record<string, string>> = {}): URLSearchParams =>
  submittedBy(htmlOf(tags.form(null, ...formFields(form, rules, { errors: new Map(), choices: {} })), ''), typed);

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join('\n') : String(value));

/** Changes a rule in its form to another rule, as a person does who empties what the other rule does not have. */
const changed = (from: Rule, to: Rule): unknown => {
  const names = new Set([...Object.keys(from.options), ...Object.keys(to.options)]);
  const fields = submittedWith([from], { '/0/name': to.name, '/0/kind': to.kind, '/0/action': to.action });
  fields.set('_unit/0/options/per_seconds', 'seconds');
  for (const name of names) {
    fields.delete(`/0/options/${name}`);
    const value = to.options[name];
    if (name === 'detectors')
      for (const one of ['', ...((value as string[] | undefined) ?? [])]) fields.append('/0/options/detectors', one);
    else fields.append(`/0/options/${name}`, value === undefined ? '' : textOf(value));
  }
  return bodyOf(form, fields, [from]).value;
};

test('a guardrail rule of every kind can be changed to every other in its form', () => {
  assert.equal([...new Set(RULES.map(({ kind }) => kind))].toSorted(), [...GUARDRAIL_KINDS].toSorted());
  for (const from of RULES)
    for (const to of RULES) {
      const value = changed(from, to);
      assert.equal(value, [to], `${from.name} → ${to.name}`);
      assert.ok(GuardrailRules.safeParse(value).success, `${from.name} → ${to.name}`);
    }
});

/** Presses a button of the list, and submits the form that is then rendered with the fields of the first one. */
const edited = (rules: readonly Rule[], button: string, row: number): unknown => {
  const pressed = new URLSearchParams([...submittedWith(rules), [button, `/${row}`]]);
  const now = withRowsEdited(pressed, bodyOf(form, pressed, rules).value) as readonly Rule[];
  return bodyOf(form, submittedWith(now), rules).value;
};

test('a row of a list that is removed or moved changes no other row', () => {
  for (const [index, first] of RULES.entries())
    for (const second of RULES.filter((_, other) => other !== index)) {
      const name = `${first.name}, ${second.name}`;
      assert.equal(edited([first, second], '_remove', 0), [second], `removed: ${name}`);
      assert.equal(edited([first, second], '_up', 1), [second, first], `moved: ${name}`);
      assert.equal(edited([first, second, RULES[0]!], '_remove', 1), [first, RULES[0]], `removed in the middle: ${name}`);
    }
});

test('an emptied field of a row that a request must have is sent as empty, so that the API reports it', () => {
  const [sent] = bodyOf(form, submittedWith([RULES[5]!], { '/0/name': '' }), [RULES[5]]).value as readonly Rule[];
  assert.is(sent?.name, '');
});

test.run();
