import { type Child, tags } from '../parts/tags.ts';
import { zoned } from '../parts/time.ts';
import type { Field, Form } from './form.ts';
import { type Drawing, idOf, noneOf, type Shown, wordsOf } from './form-controls.ts';
import { bodyFields, fieldView, moreFields } from './form-fields.ts';
import type { FormLayout, Item, OneOf, Option, Section } from './form-layout.ts';
import { fittingOption, isMissing, isOneOf, namedFields, namesIn, neededIn, oneOfField, oneOfsIn } from './form-layouts.ts';

const { div, fieldset, h3, input, label, legend, li, p, span, ul } = tags;

type Group = Field & { readonly kind: 'group' };
type Values = Readonly<Record<string, unknown>>;

/** What is known when a form is rendered: the chosen option of each one-of (a choice between groups of fields), and the path parameters. */
export type Chosen = {
  readonly chosen?: Readonly<Record<string, string>> | undefined;
  readonly params?: Readonly<Record<string, string>> | undefined;
};

type Laying = Shown &
  Chosen & {
    readonly body: Group;
    readonly layout: FormLayout;
    readonly values: Values;
    /** The fields of an option that may not stay empty while it is chosen. */
    readonly needed?: ReadonlySet<string>;
  };

/**
 * The marks of a layout. Styles show what has a mark only while an input with the same mark is checked. They know the
 * marks 1 to 16.
 */
export const MAX_MARKS = 16;

const marksOf = (layout: FormLayout): ReadonlyMap<string, number> => {
  const options = oneOfsIn(layout).flatMap(({ name, options: all }) => all.map(({ value }) => `${oneOfField(name)}=${value}`));
  const conditions = Object.keys(layout.shownIf ?? {}).map((name) => `if/${name}`);
  return new Map([...options, ...conditions].map((key, index) => [key, index + 1]));
};

/** Returns the marks of the values on which other fields depend. */
const markOf = (layout: FormLayout): NonNullable<Shown['marks']> => {
  const marks = marksOf(layout);
  const conditions = Object.entries(layout.shownIf ?? {});
  return (pointer, value) => {
    const own = conditions.filter(([, one]) => one && `/${one.field}` === pointer && one.is.includes(value));
    return own.length > 0 ? own.map(([name]) => marks.get(`if/${name}`)).join(' ') : null;
  };
};

const oneView = (name: string, laying: Laying): Child => {
  const field = laying.body.fields.find((one) => one.name === name);
  if (!field) return null;
  const isHideable = laying.layout.shownIf?.[name] !== undefined;
  const drawing: Drawing = { ...laying, at: field.pointer, value: laying.values[name], isOptional: laying.isOptional || isHideable };
  const isNeeded = laying.needed?.has(name) ?? false;
  const view = fieldView(isNeeded ? { ...field, isRequired: true, isNullable: false } : field, drawing);
  return isHideable ? div({ 'data-shown': String(marksOf(laying.layout).get(`if/${name}`)) }, view) : view;
};

const itemView = (item: Item<string>, laying: Laying): Child => {
  if (typeof item === 'string') return oneView(item, laying);
  return isOneOf(item) ? oneOfView(item, laying) : div({ class: 'field-line' }, ...item.map((name) => oneView(name, laying)));
};

/** Renders radio buttons, and for each the fields that are shown while it is chosen. It needs no JavaScript. */
const oneOfView = (oneOf: OneOf<string>, laying: Laying): Child => {
  const { name, legend: title, options } = oneOf;
  const marks = marksOf(laying.layout);
  const at = oneOfField(name);
  const value = laying.chosen?.[name] ?? fittingOption(oneOf, laying.values, (param) => laying.params?.[param.slice(1)]);
  const markOfOption = (one: string) => String(marks.get(`${at}=${one}`));
  const radio = (one: string, text: string, index: number) =>
    label(
      { class: 'tile' },
      input({
        ...(index === 0 ? { id: idOf(`/${at}`) } : {}),
        ...{ type: 'radio', name: at, value: one, checked: one === value, 'data-sets': markOfOption(one) },
      }),
      span(null, text),
    );
  // Browsers must not insist on a field that they hide. The server reports it if it is empty.
  const inside = (option: Option<string>): Laying => ({ ...laying, isOptional: true, needed: neededIn(option) });
  return fieldset(
    { class: 'field one', 'data-one-of': name },
    legend(null, title),
    div({ class: 'tiles' }, ...options.map((one, index) => radio(one.value, one.label, index))),
    ...options
      .filter(({ fields }) => fields.length > 0)
      .map((one) =>
        div(
          { class: 'one-fields', role: 'group', 'aria-label': one.label, 'data-shown': markOfOption(one.value) },
          h3(null, one.label),
          ...one.fields.map((item) => itemView(item, inside(one))),
        ),
      ),
  );
};

const sectionView = ({ title, items }: Section<string>, laying: Laying): Child =>
  title === undefined
    ? items.map((item) => itemView(item, laying))
    : fieldset({ class: 'form-section' }, legend(null, title), ...items.map((item) => itemView(item, laying)));

/** Returns a value as people see it: the word for nothing, the name of a resource, the word for a value, or a time in the zone of the form. */
const shownText = (field: Field, value: unknown, { choices }: Laying): Child => {
  if (isMissing(value)) return noneOf(field);
  const name = choices[field.name]?.find(([id]) => id === value)?.[1];
  const word = name ?? field.look.words?.[String(value)] ?? field.look.other;
  if (word !== undefined) return word;
  // A time that was refused is shown as it was typed.
  if (field.kind === 'text' && field.input === 'time' && !Number.isNaN(Date.parse(String(value)))) return zoned(String(value), 'minute');
  return field.kind === 'choice' ? wordsOf(field, [String(value)])[0]![1] : String(value);
};

/** Lists the values of fields whose controls are among the further settings. */
const summaryView = (title: string, fields: readonly Field[], laying: Laying): Child => {
  const set = fields.filter(({ name, look }) => look.isListed || !isMissing(laying.values[name]));
  return div(
    { class: 'field', 'data-summary': '' },
    span({ class: 'summary-title' }, title),
    set.length === 0
      ? p({ class: 'quiet' }, 'All')
      : ul(
          { class: 'summary-chips' },
          ...set.map((field) =>
            li({ class: 'summary-chip' }, span({ class: 'quiet' }, `${field.label} `), shownText(field, laying.values[field.name], laying)),
          ),
        ),
  );
};

const layoutFields = (laying: Laying): readonly Child[] => {
  const { layout, body, errors } = laying;
  const named = namedFields(layout);
  const others = body.fields.filter(({ name }) => !named.has(name));
  const rest = others.map(({ name }) => name);
  const more = [...layout.sections.filter(({ isMore }) => isMore), ...(rest.length > 0 ? [{ items: rest }] : [])];
  const inMore = new Set(more.flatMap(({ items }) => namesIn(items)));
  const hasError = [...errors.keys()].some((pointer) => inMore.has(pointer.split('/')[1] ?? ''));
  return [
    layout.summary ? summaryView(layout.summary, others, laying) : null,
    ...layout.sections.filter(({ isMore }) => !isMore).map((one) => sectionView(one, laying)),
    more.length === 0 ? null : moreFields('More settings', hasError, ...more.map((one) => sectionView(one, laying))),
  ];
};

/** Renders the fields of the body of an operation as its layout says or, without one, in the order of the schema. */
export const formFields = ({ body, layout }: Pick<Form, 'body' | 'layout'>, value: unknown, shown: Shown & Chosen): readonly Child[] => {
  if (!layout || body?.kind !== 'group') return bodyFields(body, value, shown);
  return layoutFields({ ...shown, body, layout, values: (value ?? {}) as Values, marks: markOf(layout) });
};
