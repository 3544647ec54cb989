import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { countText } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { searchField } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { platformPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { a, div, p, span } = tags;

type Tenant = ReplyOf<Rows['listTenants']>[number];

const MAX_PLANS = 200;

const tenantTable = (tenants: readonly Tenant[], plans: ReadonlyMap<string, string>): Child =>
  dataTable<Tenant>(
    {
      ...{ title: 'Tenants', kind: 'tenant', nameTitle: 'Tenant', id: ({ id }) => id, name: ({ name }) => name },
      href: ({ id }) => platformPath(`/tenants/${id}`),
      details: ({ slug }) => slug,
      columns: [
        { title: 'State', look: 'state', cell: ({ status }) => badge(status) },
        { title: 'Plan', cell: ({ plan_id }) => plans.get(plan_id) ?? span({ class: 'quiet' }, '—') },
        { title: 'Members', look: 'number', cell: ({ member_count }) => countText(member_count) },
        { title: 'Agents', look: 'number', cell: ({ agent_count }) => countText(agent_count) },
        { title: 'Since', look: 'number', cell: ({ created_at }) => ago(created_at) },
      ],
    },
    tenants,
  );

type Erasure = ReplyOf<Rows['listPlatformAuditLogs']>[number];

const MAX_ERASED = 50;

/** Whether a search for tenants finds an erased tenant: by a part of its name, or by its id. */
const isFound = ({ resource_name, resource_id }: Erasure, q: string): boolean =>
  `${resource_name ?? ''}\n${resource_id}`.toLowerCase().includes(q.toLowerCase());

const erasedTable = (erasures: readonly Erasure[]): Child =>
  dataTable<Erasure>(
    {
      ...{ title: 'Erased tenants', kind: 'tenant', nameTitle: 'Tenant' },
      id: ({ resource_id }) => String(resource_id),
      name: ({ resource_name }) => resource_name ?? 'Tenant',
      href: ({ resource_id }) => platformPath(`/tenants/${resource_id}`),
      columns: [
        { title: 'State', look: 'state', cell: () => badge('erased') },
        { title: 'Erased', look: 'number', cell: ({ created_at }) => ago(created_at) },
      ],
      attributes: () => ({ 'data-erased': '' }),
    },
    erasures,
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
    erasedTable(found),
    erasures.length < MAX_ERASED
      ? null
      : p(null, a({ class: 'button', href: platformPath('/audit-logs?action=tenant.erased') }, 'Find others in the audit log')),
  );
};

const createLink = (visit: Visit): Child =>
  formLink(visit, visit.rows.createTenant, {}, 'New tenant', { icon: 'plus', look: 'primary', returnTo: visit.path });

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
      panel(tenants, (found) => (found.length === 0 ? (q ? noMatch : nothing) : tenantTable(found, names))),
      pager(tenants, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
      erasures &&
        div(
          { class: 'below' },
          panel(erasures, (found) => erasedCard(found, q)),
        ),
    ];
  },
});
