import type { Operation } from '../../http/operation.ts';
import { type Field, type Form, formOf } from './form.ts';
import type { FieldLook, FormLayout, Item, OneOf, Option } from './form-layout.ts';
import { LAYOUTS } from './layouts.ts';

/** Returns the name of the form field that says which option of a one-of (a choice between groups of fields) is chosen. */
export const oneOfField = (name: string): string => `_one/${name}`;

export const isOneOf = (item: Item<string>): item is OneOf<string> => typeof item === 'object' && 'options' in item;

export const oneOfsIn = ({ sections }: FormLayout): readonly OneOf<string>[] => sections.flatMap(({ items }) => items.filter(isOneOf));

/** Returns the names of the fields that a part of a layout has, in its order. */
export const namesIn = (items: readonly Item<string>[]): readonly string[] =>
  items.flatMap((item) => (typeof item === 'string' ? [item] : isOneOf(item) ? item.options.flatMap(({ fields }) => fields.flat()) : item));

/** Returns the names of all fields that a layout shows or sets. */
export const namedFields = (layout: FormLayout): ReadonlySet<string> =>
  new Set([
    ...layout.sections.flatMap(({ items }) => namesIn(items)),
    ...oneOfsIn(layout).flatMap(({ options }) => options.flatMap(({ sets }) => Object.keys(sets ?? {}))),
  ]);

type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields that an option sets. Texts that begin with `:` are replaced by path parameters of the form. */
const setBy = (sets: Fields, param: (name: string) => unknown): Fields =>
  Object.fromEntries(
    Object.entries(sets).map(([name, value]) => [name, typeof value === 'string' && value.startsWith(':') ? param(value) : value]),
  );

/** Returns the fields of an option that may not stay empty while it is chosen. */
export const neededIn = ({ fields, optional = [] }: Option<string>): ReadonlySet<string> =>
  new Set(fields.flat()).difference(new Set(optional));

/**
 * Returns what the chosen options of a form say: the names of the fields that they hide and of those that may not stay
 * empty, and the values that they set.
 */
export const chosenParts = (
  layout: FormLayout,
  submitted: Pick<URLSearchParams, 'get' | 'has'>,
): { readonly hidden: ReadonlySet<string>; readonly needed: ReadonlySet<string>; readonly sets: Fields } => {
  const hidden = new Set<string>();
  const needed = new Set<string>();
  const sets: Record<string, unknown> = {};
  for (const { name, options } of oneOfsIn(layout)) {
    const chosen = options.find(({ value }) => value === submitted.get(oneOfField(name)));
    if (!chosen) continue;
    const own = new Set(chosen.fields.flat());
    for (const field of options.flatMap(({ fields }) => fields.flat())) if (!own.has(field)) hidden.add(field);
    for (const field of neededIn(chosen)) needed.add(field);
    Object.assign(
      sets,
      setBy(chosen.sets ?? {}, (param) => submitted.get(param)),
    );
  }
  for (const [name, condition] of Object.entries(layout.shownIf ?? {}))
    if (condition && submitted.has(`/${condition.field}`) && !condition.is.includes(submitted.get(`/${condition.field}`)!))
      hidden.add(name);
  for (const name of Object.keys(sets)) hidden.delete(name);
  return { hidden, needed, sets };
};

export const isMissing = (value: unknown): boolean => value === undefined || value === null || value === '';

/**
 * Returns the option of a one-of that fits the values of a form best: the one that sets these values or has a field with
 * a value; by default, the first.
 */
export const fittingOption = ({ options }: OneOf<string>, values: Fields, param: (name: string) => unknown): string => {
  const fits = options.map(({ fields, sets = {} }) => {
    const set = Object.entries(setBy(sets, param));
    if (set.some(([name, value]) => !isMissing(values[name]) && values[name] !== value)) return -1;
    const equal = set.filter(([name, value]) => Object.hasOwn(values, name) && values[name] === value).length;
    return equal + 2 * fields.flat().filter((name) => !isMissing(values[name])).length;
  });
  return options[fits.indexOf(Math.max(...fits))]!.value;
};

/** Applies a look to a field and to the members of a group. */
const looking = (field: Field, look: FieldLook): Field => {
  const { label = field.label, help = field.help, members } = look;
  const shown = { ...field, label, help, look };
  if (shown.kind !== 'group' || !members) return shown;
  return { ...shown, fields: shown.fields.map((one) => (members[one.name] ? looking(one, members[one.name]!) : one)) };
};

/** Returns a field with its look in a layout. A body that is a list is the field `items` there. */
const withLook = (field: Field, layout: FormLayout): Field => {
  const look = layout.fields?.[field.name || 'items'];
  if (!look) return field;
  return looking(field, look);
};

const laidOut = (form: Form, layout: FormLayout): Form => {
  const { body } = form;
  if (!body) return { ...form, layout };
  const shown = (field: Field): Field => {
    const own = withLook(field, layout);
    return layout.slug?.to === field.name ? { ...own, look: { ...own.look, isDerived: true } } : own;
  };
  return { ...form, layout, body: body.kind === 'group' ? { ...body, fields: body.fields.map(shown) } : shown(body) };
};

const known = new WeakMap<Operation, Form>();

/** Returns the form of an operation with its layout, if it has one. */
export const formFor = (operation: string, row: Operation): Form => {
  const layout = Object.hasOwn(LAYOUTS, operation) ? LAYOUTS[operation] : undefined;
  if (!layout) return formOf(row);
  const form = known.get(row) ?? laidOut(formOf(row), layout);
  known.set(row, form);
  return form;
};
