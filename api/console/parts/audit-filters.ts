import type { auditOperations } from '../../audit/audit-log.ts';
import type { ReplyOf } from '../../http/ask.ts';
import type { Choice } from './combobox.ts';
import { countText } from './count-text.ts';
import { type FilterField, filterForm } from './filter-form.ts';
import type { Child } from './tags.ts';

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

const actionChoices = ({ actions }: AuditFacets): readonly Choice[] =>
  actions
    .map(({ action, words, count }): Choice => ({ value: action, name: words, detail: countText(count) }))
    .toSorted((one, other) => one.name.localeCompare(other.name));

const actorChoices = ({ actors }: AuditFacets): readonly Choice[] =>
  actors.map(({ id, kind, name, count }): Choice => {
    const shown = name ?? (kind === 'system' ? `the platform (${id})` : 'one without a name');
    return { value: id, name: shown, detail: countText(count) };
  });

type Values = Readonly<Record<string, string>>;
type Given = { readonly path: string; readonly values: Values; readonly kept: Values; readonly facets: AuditFacets | null };

/** Renders the filters of a tenant's audit log: actions in words and actors by name, as far as entries have them. */
export const auditFilters = ({ path, values, kept, facets }: Given): Child => {
  const known = facets ?? { actions: [], actors: [], counted: 0 };
  const fields: readonly FilterField[] = [
    { name: 'action', label: 'Action', choices: actionChoices(known) },
    { name: 'actor', label: 'Who', choices: actorChoices(known) },
    { name: 'from', label: 'From', placeholder: 'yesterday 9:00' },
    { name: 'to', label: 'Until', placeholder: '2 hours ago' },
  ];
  return filterForm(path, fields, values, kept);
};
