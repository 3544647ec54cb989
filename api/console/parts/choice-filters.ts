import { icon } from './icon.ts';
import { type Child, tags } from './tags.ts';
import { fieldTime } from './time.ts';

const { a, button, details, div, form, input, label, option, select, span, summary } = tags;

/** A value of a filter, and how people call it. */
export type Choice = readonly [value: string, text: string];

/** A filter that offers what exists, or, without choices, a time that is typed. */
export type ChoiceField = {
  readonly name: string;
  readonly label: string;
  readonly choices?: readonly Choice[];
  readonly placeholder?: string;
};

const ANY_ID = /^c[a-z0-9]{24}$/;

type Values = Readonly<Record<string, string>>;

const selected = ({ name, choices = [] }: ChoiceField, value: string): Child => {
  const isListed = value === '' || choices.some(([one]) => one === value);
  const all: readonly Choice[] = [
    ['', 'any'],
    ...choices,
    ...(isListed ? [] : [[value, ANY_ID.test(value) ? 'the chosen one' : value] as const]),
  ];
  return select({ id: `filter-${name}`, name }, ...all.map(([one, shown]) => option({ value: one, selected: one === value }, shown)));
};

const fieldOf = (field: ChoiceField, value: string): Child => {
  const { name, label: text, choices, placeholder = '' } = field;
  const typed = () => input({ id: `filter-${name}`, name, value: fieldTime(value), placeholder, autocomplete: 'off' } as never);
  return div(null, label({ for: `filter-${name}` }, text), choices ? selected(field, value) : typed());
};

type Given = { readonly path: string; readonly fields: readonly ChoiceField[]; readonly values: Values; readonly kept: Values };

/** Renders the filters of a list whose values have names. `kept` contains the parameters that stay the same. */
export const choiceFilters = ({ path, fields, values, kept }: Given): Child => {
  const set = fields.filter(({ name }) => values[name]).length;
  return details(
    { class: 'filters', open: set > 0 },
    summary({ class: 'button' }, icon('search'), span(null, set > 0 ? `Filters (${set})` : 'Filters')),
    form(
      { method: 'get', action: path },
      ...Object.entries(kept).map(([name, value]) => input({ type: 'hidden', name, value })),
      div({ class: 'filter-fields' }, ...fields.map((field) => fieldOf(field, values[field.name] ?? ''))),
      div(
        { class: 'actions' },
        button({ class: 'primary' }, 'Filter'),
        set > 0 ? a({ class: 'button', href: path }, 'Clear the filters') : null,
      ),
    ),
  );
};
