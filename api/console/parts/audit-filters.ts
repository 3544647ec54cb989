import type { auditOperations } from '../../audit/audit-log.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { countText } from './count-text.ts';
import type { FilterField } from './filter-form.ts';
import { icon } from './icon.ts';
import { type Child, tags } from './tags.ts';
import { fieldTime } from './time.ts';

const { a, button, details, div, form, input, label, option, select, span, summary } = tags;

export type AuditFacets = ReplyOf<(typeof auditOperations)['readAuditFacets']>;

/** The filters of the platform's audit log. */
export const AUDIT_FILTERS: readonly FilterField[] = [
  { name: 'action', label: 'Action', placeholder: 'agent.updated or agent.*' },
  { name: 'actor', label: 'Actor', placeholder: 'user, agent or part of the platform' },
  { name: 'resource_type', label: 'Kind of resource', placeholder: 'agent' },
  { name: 'resource_id', label: 'Resource', placeholder: 'its id' },
  { name: 'agent_id', label: 'Agent', placeholder: 'its id' },
  { name: 'key_id', label: 'API key', placeholder: 'its id' },
  { name: 'from', label: 'From', placeholder: 'yesterday 9:00' },
  { name: 'to', label: 'Until', placeholder: '2 hours ago' },
];
/** The query parameters that these filters set. */
export const AUDIT_FILTER_NAMES = [...AUDIT_FILTERS.map(({ name }) => name), 'user_id'];

type Values = Readonly<Record<string, string>>;
type Choice = readonly [value: string, text: string];

const chosen = (name: string, text: string, value: string, choices: readonly Choice[]): Child => {
  const isListed = value === '' || choices.some(([one]) => one === value);
  const all: readonly Choice[] = [['', 'any'], ...choices, ...(isListed ? [] : [[value, value] as const])];
  const id = `filter-${name}`;
  return div(
    null,
    label({ for: id }, text),
    select({ id, name }, ...all.map(([one, shown]) => option({ value: one, selected: one === value }, shown))),
  );
};

const timeField = (name: string, text: string, value: string, placeholder: string): Child => {
  const id = `filter-${name}`;
  return div(null, label({ for: id }, text), input({ id, name, value: fieldTime(value), placeholder, autocomplete: 'off' } as never));
};

const actionChoices = ({ actions }: AuditFacets): readonly Choice[] =>
  actions
    .map(({ action, words, count }): Choice => [action, `${words}, ${countText(count)}`])
    .toSorted(([, one], [, other]) => one.localeCompare(other));

const actorChoices = ({ actors }: AuditFacets): readonly Choice[] =>
  actors.map(
    ({ id, kind, name, count }): Choice => [
      id,
      `${name ?? (kind === 'system' ? `the platform (${id})` : 'one without a name')}, ${countText(count)}`,
    ],
  );

type Given = { readonly path: string; readonly values: Values; readonly kept: Values; readonly facets: AuditFacets | null };

/** Renders the filters of a tenant's audit log: actions in words and actors by name, as far as entries have them. */
export const auditFilters = ({ path, values, kept, facets }: Given): Child => {
  const known = facets ?? { actions: [], actors: [], counted: 0 };
  const set = ['action', 'actor', 'from', 'to'].filter((name) => values[name]).length;
  return details(
    { class: 'filters', open: set > 0 },
    summary({ class: 'button' }, icon('search'), span(null, set > 0 ? `Filters (${set})` : 'Filters')),
    form(
      { method: 'get', action: path },
      ...Object.entries(kept).map(([name, value]) => input({ type: 'hidden', name, value })),
      div(
        { class: 'filter-fields' },
        chosen('action', 'Action', values.action ?? '', actionChoices(known)),
        chosen('actor', 'Who', values.actor ?? '', actorChoices(known)),
        timeField('from', 'From', values.from ?? '', 'yesterday 9:00'),
        timeField('to', 'Until', values.to ?? '', '2 hours ago'),
      ),
      div(
        { class: 'actions' },
        button({ class: 'primary' }, 'Filter'),
        set > 0 ? a({ class: 'button', href: path }, 'Clear the filters') : null,
      ),
    ),
  );
};
