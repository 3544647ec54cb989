import { type Choice, combobox } from './combobox.ts';
import { icon } from './icon.ts';
import { tags } from './tags.ts';
import { fieldTime } from './time.ts';

const { form, label, input, button, span, details, summary, div, a, select, option } = tags;

/** A filter of a list. It is a text field or, if it has options, a select control; with `choices`, a combobox. */
export type FilterField = {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly options?: readonly string[];
  /** What can be chosen by name; null if there is more than a combobox contains. It then searches at `source`. */
  readonly choices?: readonly Choice[] | null;
  readonly source?: string;
  /** The name of the present value, if `choices` is null. */
  readonly valueName?: string;
};

/** The names of filters that are times. They can be typed in words, and in the visitor's time zone. */
export const TIME_FILTERS = ['from', 'to', 'at', 'start', 'end'];

type Values = Readonly<Record<string, string>>;

const comboboxOf = ({ name, label: text, choices = null, source, valueName }: FilterField, value: string, isSentAtOnce: boolean) =>
  combobox({ id: `filter-${name}`, name, what: text.toLowerCase(), value, choices, source, valueName, isSentAtOnce });

/** Renders a filter with its label. With `isSentAtOnce`, choosing a value by its name sends the form. */
export const filterField = (field: FilterField, value: string, isSentAtOnce = false) => {
  const { name, label: text, placeholder, options } = field;
  const id = `filter-${name}`;
  if (field.choices !== undefined) return div(null, label({ for: id }, text), comboboxOf(field, value, isSentAtOnce));
  const control =
    options === undefined
      ? input({
          id,
          name,
          value: TIME_FILTERS.includes(name) ? fieldTime(value) : value,
          placeholder: placeholder ?? '',
          autocomplete: 'off',
          spellcheck: false,
        })
      : select({ id, name }, ...['', ...options].map((one) => option({ value: one, selected: one === value }, one === '' ? 'any' : one)));
  return div(null, label({ for: id }, text), control);
};

/**
 * Renders the filters of a list as a form that can be opened. The form sets query parameters of the page. `kept`
 * contains the parameters that stay the same.
 */
export const filterForm = (path: string, fields: readonly FilterField[], values: Values, kept: Values = {}) => {
  const set = fields.filter(({ name }) => values[name]).length;
  return details(
    { class: 'filters', open: set > 0 },
    summary({ class: 'button' }, icon('search'), span(null, set > 0 ? `Filters (${set})` : 'Filters')),
    form(
      { method: 'get', action: path },
      ...Object.entries(kept).map(([name, value]) => input({ type: 'hidden', name, value })),
      div({ class: 'filter-fields' }, ...fields.map((field) => filterField(field, values[field.name] ?? ''))),
      div(
        { class: 'actions' },
        button({ class: 'primary' }, 'Filter'),
        set > 0 ? a({ class: 'button', href: path }, 'Clear the filters') : null,
      ),
    ),
  );
};

/** Returns those query parameters of a page that have one of these names and are not empty. */
export const valuesIn = (query: URLSearchParams, names: readonly string[]): Values =>
  Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])));
