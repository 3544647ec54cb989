import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { counted, countText } from '../parts/count-text.ts';
import { dataTable } from '../parts/data-table.ts';
import { emptyState } from '../parts/empty-state.ts';
import { type FilterField, filterForm, valuesIn } from '../parts/filter-form.ts';
import { filterTabs } from '../parts/filters.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { tags } from '../parts/tags.ts';
import { ago, tookText } from '../parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, div, span, nav } = tags;

type Found = ReplyOf<Rows['listTenantSessions']>;
type Session = Found['items'][number];

const STATUSES = ['running', 'waiting', 'completed', 'failed', 'cancelled', 'expired'] as const;
const FILTERS: readonly FilterField[] = [
  { name: 'agent_id', label: 'Agent', placeholder: 'its id' },
  { name: 'user_id', label: 'User', placeholder: 'their id' },
  { name: 'from', label: 'From', placeholder: 'yesterday 9:00' },
  { name: 'to', label: 'Until', placeholder: '2 hours ago' },
];
const NAMES = [...FILTERS.map(({ name }) => name), 'status'];

const states = (visit: Visit) => {
  const linkTo = (status: string | null) => withQuery(visit, { status, page: null });
  return filterTabs('Filter by state', visit.query.get('status'), [
    { value: null, label: 'All', href: linkTo(null) },
    ...STATUSES.map((status) => ({ value: status, label: badge(status), href: linkTo(status) })),
  ]);
};

const sessionTable = ({ items }: Found, visit: Visit) =>
  dataTable<Session>(
    {
      ...{ title: 'Sessions', kind: 'session', nameTitle: 'Session', id: ({ id }) => id, name: ({ title }) => title ?? 'Untitled session' },
      href: ({ id }) => tenantPath(visit.params.tenant_id!, `/sessions/${id}`),
      details: ({ agent_name, user_name }) => [agent_name ?? 'an agent', user_name ? ` · for ${user_name}` : ''],
      columns: [
        { title: 'State', look: 'state', cell: ({ status }) => badge(status) },
        { title: 'Messages', look: 'number', cell: ({ message_count }) => countText(message_count) },
        { title: 'Took', look: 'number', cell: tookText },
        { title: 'Started', look: 'number', cell: ({ created_at }) => ago(created_at) },
      ],
    },
    items,
  );

const pages = ({ total, page: at, per_page }: Found, visit: Visit) => {
  const last = Math.max(1, Math.ceil(total / per_page));
  if (last === 1) return null;
  const linkTo = (number: number) => withQuery(visit, { page: number === 1 ? null : String(number) });
  return nav(
    { 'aria-label': 'Pages of the list', class: 'pager' },
    at > 1 ? a({ class: 'button', href: linkTo(at - 1) }, icon('arrow-left'), 'Newer') : span(null),
    span({ class: 'quiet' }, `Page ${at} of ${last}, ${counted(total, 'session')}`),
    at < last ? a({ class: 'button', href: linkTo(at + 1), rel: 'next' }, 'Older', icon('arrow-right')) : span(null),
  );
};

const nothing = (visit: Visit) =>
  NAMES.some((name) => visit.query.get(name))
    ? emptyState(
        { icon: 'search', title: 'No session matches', why: 'Nothing matches the filters of this page.' },
        a({ class: 'button', href: visit.path }, 'Clear the filters'),
      )
    : emptyState(
        { icon: 'message-square', title: 'No sessions yet', why: 'A runner starts a session when it processes a delivery or a cron run.' },
        a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/agents') }, 'Open the agents'),
      );

/** The page with the sessions of a tenant, newest first. */
export const sessionListPage = page({
  path: '/console/t/:tenant_id/sessions',
  permit: 'tenant:audit:read',
  nav: 'Sessions',
  categories: ['session'],
  asks: (visit) => ({
    sessions: visit.ask(visit.rows.listTenantSessions, {
      tenant_id: visit.params.tenant_id!,
      ...(valuesIn(visit.query, [...NAMES, 'page']) as object),
    }),
  }),
  title: () => 'Sessions',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ sessions }, visit) => {
    const { status, ...filters } = valuesIn(visit.query, NAMES);
    return [
      heading('Sessions', 'What agents worked on, message by message, and what it cost.'),
      div({ class: 'toolbar' }, states(visit), filterForm(visit.path, FILTERS, filters, status ? { status } : {})),
      sessions.ok
        ? sessions.value.items.length > 0
          ? sessionTable(sessions.value, visit)
          : nothing(visit)
        : problemPanel(sessions.problem),
      sessions.ok ? pages(sessions.value, visit) : null,
    ];
  },
});
