import type { Rows } from '../../areas.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { page } from '../page.ts';
import { AUDIT_FILTER_NAMES, AUDIT_FILTERS, auditEntry, entryFacts } from '../parts/audit-entry.ts';
import { emptyState } from '../parts/empty-state.ts';
import { type EventDetail, eventLinks, resourceLinks } from '../parts/event-links.ts';
import { exportLinks } from '../parts/export-links.ts';
import { filterForm, valuesIn } from '../parts/filter-form.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { jsonTree } from '../parts/json-tree.ts';
import { moduleScript } from '../parts/module-script.ts';
import { pager } from '../parts/pager.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { entryProof } from '../parts/proof.ts';
import { type Child, tags } from '../parts/tags.ts';
import { resourcePathFor } from '../resource-path.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, details, div, span, summary, ol, h2, p } = tags;

type Entry = ReplyOf<Rows['listAuditLogs']>[number];

const FILTER_NAMES = [...AUDIT_FILTER_NAMES, 'about'];

/** Renders the event of the entry that is selected in the URL. It has more details than the entry in the list. */
const eventOf = (answer: Answer<EventDetail>, visit: Visit): readonly Child[] => {
  if (!answer.ok) return [problemPanel(answer.problem)];
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const { data, metadata, causes, effects, resources } = answer.value;
  return [
    h2(null, 'Data'),
    jsonTree(data),
    h2(null, 'Metadata'),
    jsonTree(metadata),
    h2(null, 'Causes'),
    eventLinks(causes, at, 'It names no event as its cause.'),
    h2(null, 'Effects'),
    eventLinks(effects, at, 'No event names it as its cause.'),
    h2(null, 'Resources'),
    resourceLinks(resources, resourcePathFor(visit)),
  ];
};

/**
 * Renders an entry of the list. Only the entry that is selected in the URL has its facts, its event and its proof: for
 * all entries, they would be most of the page.
 */
const entryOf = (entry: Entry, visit: Visit, selected: Answer<EventDetail> | undefined) => {
  const tenant_id = visit.params.tenant_id!;
  if (!selected) {
    const href = `${withQuery(visit, { entry: entry.id })}#e-${entry.id}`;
    return auditEntry(entry, { isOpen: false, more: [a({ class: 'button small', href }, 'Event, causes and proof')] });
  }
  const href = tenantPath(tenant_id, `/events/${entry.id}`);
  const actions = div({ class: 'actions' }, a({ class: 'button small', href }, 'Page of the event'), entryProof(tenant_id, entry));
  return auditEntry(entry, { isOpen: true, more: [entryFacts(entry), actions, ...eventOf(selected, visit)] });
};

const links = (tenant_id: string) => [
  a({ class: 'button', href: tenantPath(tenant_id, '/audit/heads') }, icon('fingerprint'), span(null, 'Heads and export')),
];

const nothing = (visit: Visit, isFiltered: boolean) =>
  emptyState(
    {
      icon: 'scroll-text',
      title: isFiltered ? 'Nothing matches' : 'Nothing happened yet',
      why: 'Every change of this tenant appears here.',
    },
    isFiltered ? a({ class: 'button', href: visit.path }, 'Clear the filters') : null,
  );

/** The page with the audit log of a tenant. Its entries are shown as sentences, newest first. */
export const auditPage = page({
  path: '/console/t/:tenant_id/audit',
  permit: 'tenant:audit:read',
  nav: 'Audit log',
  categories: '*',
  asks: (visit) => {
    const tenant_id = visit.params.tenant_id!;
    const entry = visit.query.get('entry');
    return {
      entries: visit.ask(visit.rows.listAuditLogs, { tenant_id, ...valuesIn(visit.query, [...FILTER_NAMES, 'cursor']) }),
      ...(entry === null ? {} : { event: visit.ask(visit.rows.readEvent, { tenant_id, event_id: entry }) }),
    };
  },
  title: () => 'Audit log',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ entries, event }, visit) => {
    const filters = valuesIn(visit.query, FILTER_NAMES);
    const selectedOf = ({ id }: Entry) => (visit.query.get('entry') === id ? event : undefined);
    const list = () => {
      if (!entries.ok) return problemPanel(entries.problem);
      if (entries.value.length === 0) return nothing(visit, Object.keys(filters).length > 0);
      const items = entries.value.map((entry) => entryOf(entry, visit, selectedOf(entry)));
      return div({ class: 'card' }, ol({ class: 'history' }, ...items));
    };
    return [
      heading('Audit log', 'Who did what, from where. It cannot be changed afterwards.', ...links(visit.params.tenant_id!)),
      div(
        { class: 'toolbar' },
        filterForm(visit.path, AUDIT_FILTERS, filters),
        details(
          { class: 'filters' },
          summary({ class: 'button' }, icon('download'), span(null, 'Export')),
          p({ class: 'quiet' }, 'What the filters select, up to the position of this page. An export is itself recorded.'),
          exportLinks(visit.params.tenant_id!, entries.position, filters),
        ),
      ),
      list(),
      pager(entries, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next, entry: null })),
      moduleScript('proof-check.mjs'),
    ];
  },
});
