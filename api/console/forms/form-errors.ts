import type { Problem } from '../../http/ask.ts';
import { icon } from '../parts/icon.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { type Child, tags } from '../parts/tags.ts';
import type { Field, Form } from './form.ts';
import { idOf } from './form-controls.ts';
import type { FieldError } from './form-values.ts';
import { labelOf } from './form-words.ts';

const { a, div, h2, li, span, ul } = tags;

export type FieldErrors = readonly FieldError[];

/** Returns the name of the form field for a pointer of the API, in which parameters begin with `/path/` or `/query/`. */
export const fieldAt = (pointer: string): string => pointer.replace(/^\/path\//, ':').replace(/^\/query\//, '?');

/** Returns the errors by the names of their fields. */
export const errorMap = (errors: FieldErrors): ReadonlyMap<string, readonly string[]> => {
  const all = new Map<string, string[]>();
  for (const { pointer, message } of errors) all.set(fieldAt(pointer), [...(all.get(fieldAt(pointer)) ?? []), message]);
  return all;
};

/** Returns the fields from the body to the one at a pointer, as far as the form has them. */
const fieldsTo = (field: Field, names: readonly string[]): readonly Field[] => {
  const [name, ...rest] = names;
  if (name === undefined) return [];
  const next = field.kind === 'rows' ? field.item : field.kind === 'group' ? field.fields.find((one) => one.name === name) : undefined;
  return next ? [next, ...fieldsTo(next, rest)] : [];
};

/** Returns the pointer of the nearest field that the form has at a pointer, and its label. */
const nearest = ({ body }: Form, pointer: string): { readonly at: string; readonly label: string } => {
  const at = fieldAt(pointer);
  if (!at.startsWith('/')) return { at, label: labelOf(at.slice(1)) || 'Value' };
  const names = at.split('/').slice(1);
  const fields = body ? fieldsTo(body, names) : [];
  const label = fields.at(-1)?.label;
  return { at: `/${names.slice(0, Math.max(1, fields.length)).join('/')}`, label: label || labelOf(names.at(-1) ?? '') || 'Value' };
};

/** Lists what was refused although the act as a whole has succeeded. */
export const problemList = (title: string, texts: readonly string[]): Child =>
  div(
    { class: 'problem', role: 'alert' },
    icon('triangle-alert'),
    div(null, h2(null, title), ul(null, ...texts.map((text) => li(null, text)))),
  );

type Refused = { readonly problem: Problem | null; readonly errors: FieldErrors; readonly form: Form; readonly path: string };

const headOf = (errors: FieldErrors): string => {
  if (errors.some(({ pointer }) => pointer === '')) return 'The form needs a change';
  return errors.length === 1 ? 'One field needs a change' : `${errors.length} fields need a change`;
};

/** Lists the errors above a form, each with a link to its field. */
export const errorList = ({ problem, errors, form, path }: Refused): Child => {
  if (!problem && errors.length === 0) return null;
  if (errors.length === 0) return problemPanel(problem!, path);
  return div(
    { class: 'problem', role: 'alert', 'data-problem': '' },
    icon('triangle-alert'),
    div(
      null,
      h2(null, headOf(errors)),
      ul(
        null,
        ...errors.map(({ pointer, message }) => {
          // An error about several fields together has no field to link to.
          if (pointer === '') return li(null, span(null, message));
          const { at, label } = nearest(form, pointer);
          return li(null, a({ href: `#${idOf(at)}` }, label), span(null, ` ${message}`));
        }),
      ),
    ),
  );
};
