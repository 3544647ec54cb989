import { type FilterField, filterField } from './parts/filter-form.ts';
import { icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import { PERIODS, type TimeRange } from './parts/time-range.ts';
import { withQuery } from './visit.ts';

const { a, button, details, div, form, input, label, li, span, summary, ul } = tags;

type Place = Parameters<typeof withQuery>[0];

export type FilterBar = {
  /** The filters that are always shown. */
  readonly fields: readonly FilterField[];
  /** The filters behind "+ Filter". */
  readonly more: readonly FilterField[];
  readonly range: TimeRange;
  /** The filters that only links set, each with what is said about it. */
  readonly set?: readonly (readonly [name: string, text: string])[];
  /** The parameters that stay the same, such as the state. */
  readonly kept: Readonly<Record<string, string>>;
};

const OWN_PERIOD: readonly FilterField[] = [
  { name: 'from', label: 'From', placeholder: 'yesterday 9:00' },
  { name: 'to', label: 'To', placeholder: '2 hours ago' },
];

const hidden = (values: Readonly<Record<string, string>>): readonly Child[] =>
  Object.entries(values).map(([name, value]) => input({ type: 'hidden', name, value }));

const apply = (): Child => button({ class: 'primary' }, 'Apply');

/** Renders the period as a button that opens the usual periods, and fields for a custom one. */
const periodPicker = (visit: Place, { key, title, times }: TimeRange): Child => {
  const linkTo = (period: string) => withQuery(visit, { period, from: null, to: null, cursor: null });
  return div(
    null,
    label({ id: 'period-label' }, 'Period'),
    details(
      { class: 'filters picker' },
      summary({ class: 'button', 'aria-describedby': 'period-label' }, span(null, title), icon('chevron-down')),
      div(
        { class: 'picker-panel' },
        ...Object.entries(PERIODS).map(([period, [name]]) =>
          a({ href: linkTo(period), 'aria-current': period === key ? 'true' : null }, name),
        ),
        ...OWN_PERIOD.map((field) => filterField(field, key === 'own' ? (times[field.name] ?? '') : '')),
        apply(),
      ),
    ),
  );
};

/** Renders the filters that are set, but not shown as fields, each with a link that removes it. */
const chipsOf = (visit: Place, { more, set = [] }: FilterBar): Child => {
  const fields = more.flatMap(({ name, label: text }) =>
    visit.query.get(name) ? [[name, `${text}: ${visit.query.get(name)}`] as const] : [],
  );
  const all = [...set, ...fields];
  if (all.length === 0) return null;
  return ul(
    { class: 'chips', 'aria-label': 'Filters' },
    ...all.map(([name, text]) =>
      li(
        null,
        span({ title: text }, text),
        a({ href: withQuery(visit, { [name]: null, cursor: null }), 'aria-label': `Remove ${text}` }, '×'),
      ),
    ),
  );
};

/**
 * Renders the filters of a list in one line. A choice in a combobox acts at once; without JavaScript, a button sends all
 * of them.
 */
export const filterBar = (visit: Place, bar: FilterBar): Child => {
  const { fields, more, range, kept } = bar;
  const valueIn = (name: string): string => visit.query.get(name) ?? '';
  const setByLinks = Object.fromEntries((bar.set ?? []).map(([name]) => [name, valueIn(name)]));
  const period: Readonly<Record<string, string>> = range.key === 'own' ? {} : { period: range.key };
  return form(
    { method: 'get', action: visit.path, class: 'filter-bar filter-fields', 'aria-label': 'Filters' },
    ...hidden({ ...kept, ...setByLinks, ...period }),
    ...fields.map((field) => filterField(field, valueIn(field.name), true)),
    periodPicker(visit, range),
    more.length === 0
      ? null
      : details(
          { class: 'filters picker' },
          summary({ class: 'button ghost' }, icon('plus'), span(null, 'Filter')),
          div({ class: 'picker-panel' }, ...more.map((field) => filterField(field, valueIn(field.name))), apply()),
        ),
    fields.length === 0 ? null : div({ class: 'without-script' }, apply()),
    chipsOf(visit, bar),
  );
};
