import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { countText } from '../parts/count-text.ts';
import { emptyState } from '../parts/empty-state.ts';
import { card } from '../parts/facts.ts';
import { searchField } from '../parts/filters.ts';
import { heading } from '../parts/heading.ts';
import { pager } from '../parts/pager.ts';
import { panel } from '../parts/problem-panel.ts';
import { type Column, tableOf } from '../parts/table.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { platformPath, type Visit, withQuery } from '../visit.ts';

const { a, div, p, span, td, tr } = tags;

type Tenant = ReplyOf<Rows['listTenants']>[number];

const COLUMNS: readonly Column[] = [
  ['Tenant'],
  ['State'],
  ['Plan', 'wide-only'],
  ['Members', 'number wide-only'],
  ['Agents', 'number wide-only'],
  ['Since', 'number'],
];
const MAX_PLANS = 200;

const rowOf =
  (plans: ReadonlyMap<string, string>) =>
  ({ id, name, slug, status, plan_id, member_count, agent_count, created_at }: Tenant) =>
    tr(
      { 'data-kind': 'tenant', 'data-id': id },
      td(
        { class: 'main-cell' },
        a({ href: platformPath(`/tenants/${id}`), class: 'row-link' }, span({ class: 'event' }, name)),
        div({ class: 'quiet clip' }, slug),
      ),
      td({ class: 'state-cell' }, badge(status)),
      td({ class: 'wide-only' }, plans.get(plan_id) ?? span({ class: 'quiet' }, '—')),
      td({ class: 'number wide-only' }, countText(member_count)),
      td({ class: 'number wide-only' }, countText(agent_count)),
      td({ class: 'number' }, ago(created_at)),
    );

type Erasure = ReplyOf<Rows['listPlatformAuditLogs']>[number];

const ERASED_COLUMNS: readonly Column[] = [['Tenant'], ['State'], ['Erased', 'number']];
const MAX_ERASED = 50;

/** Whether a search for tenants finds an erased tenant: by a part of its name, or by its id. */
const isFound = ({ resource_name, resource_id }: Erasure, q: string): boolean =>
  `${resource_name ?? ''}\n${resource_id}`.toLowerCase().includes(q.toLowerCase());

const erasedRow = ({ resource_id, resource_name, created_at }: Erasure) =>
  tr(
    { 'data-kind': 'tenant', 'data-id': resource_id, 'data-erased': '' },
    td(
      { class: 'main-cell' },
      a({ href: platformPath(`/tenants/${resource_id}`), class: 'row-link' }, span({ class: 'event' }, resource_name ?? 'Tenant')),
    ),
    td({ class: 'state-cell' }, badge('erased')),
    td({ class: 'number' }, ago(created_at)),
  );

/**
 * Renders the erased tenants that the search finds. They have no rows of their own any more, but the platform's audit
 * log still has an entry about each of them.
 */
const erasedCard = (erasures: readonly Erasure[], q: string): Child => {
  const found = erasures.filter((erasure) => isFound(erasure, q));
  if (found.length === 0) return null;
  return card(
    'Erased tenants',
    tableOf('Erased tenants', ERASED_COLUMNS, found.map(erasedRow)),
    erasures.length < MAX_ERASED
      ? null
      : p(null, a({ class: 'button', href: platformPath('/audit-logs?action=tenant.erased') }, 'Find others in the audit log')),
  );
};

const createLink = (visit: Visit): Child =>
  formLink(visit, visit.rows.createTenant, {}, 'New tenant', { icon: 'plus', look: 'primary', returnTo: visit.path });

/** The page with the tenants of the platform. */
export const platformTenantsPage = page({
  path: '/console/platform/tenants',
  permit: 'platform',
  nav: 'Tenants',
  polls: true,
  asks: ({ ask, rows, query }) => {
    const [q, cursor] = [query.get('q'), query.get('cursor')];
    return {
      tenants: ask(rows.listTenants, { ...(q && { q }), ...(cursor && { cursor }) }),
      plans: ask(rows.listPlans, { limit: MAX_PLANS }),
      erasures: cursor ? Promise.resolve(null) : ask(rows.listPlatformAuditLogs, { action: 'tenant.erased', limit: MAX_ERASED }),
    };
  },
  title: () => 'Tenants',
  trail: () => [['Platform', platformPath()]],
  view: ({ tenants, plans, erasures }, visit) => {
    const names = new Map(plans.ok ? plans.value.map(({ id, name }) => [id, name]) : []);
    const q = visit.query.get('q') ?? '';
    const noMatch = emptyState(
      { icon: 'search', title: 'No tenant matches', why: 'No tenant has this text in its name, slug or id.' },
      a({ class: 'button', href: visit.path }, 'Clear the search'),
    );
    const nothing = emptyState(
      { icon: 'building-2', title: 'No tenants', why: 'A tenant has members, agents and integrations of its own.' },
      createLink(visit),
    );
    return [
      heading(
        'Tenants',
        'What lies inside a tenant opens only with a reason and for a limited time; the tenant sees it.',
        createLink(visit),
      ),
      div({ class: 'toolbar' }, searchField(visit.path, { name: 'q', value: q, placeholder: 'Search by name or id' })),
      panel(tenants, (found) => (found.length === 0 ? (q ? noMatch : nothing) : tableOf('Tenants', COLUMNS, found.map(rowOf(names))))),
      pager(tenants, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
      erasures &&
        div(
          { class: 'below' },
          panel(erasures, (found) => erasedCard(found, q)),
        ),
    ];
  },
});
