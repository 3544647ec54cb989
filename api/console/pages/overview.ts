import { askHeld, heldCard } from '../held-groups.ts';
import { agentNames, namesIn } from '../names.ts';
import { noDeliveries } from '../no-deliveries.ts';
import { openApprovals } from '../open-approvals.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { deliveryTable } from '../parts/delivery-row.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { panel } from '../parts/problem-panel.ts';
import { tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { tenantPath, type Visit } from '../visit.ts';

const { section, h2, div, a, ul, li, span, strong } = tags;

const RECENT = 8;

const titled = (title: string, href: string, ...content: Parameters<typeof section>[1][]) =>
  section(
    { class: 'panel' },
    div({ class: 'panel-head' }, h2(null, title), a({ href, class: 'more' }, 'All', icon('arrow-right'))),
    ...content,
  );

const nameOf = ({ tenant }: Visit): string => tenant?.name ?? 'Tenant';

/** The first page of a tenant, with its latest deliveries, its agents, and the latest changes that people have made. */
export const overviewPage = page({
  path: '/console/t/:tenant_id',
  permit: 'tenant:read',
  nav: 'Overview',
  categories: ['delivery', 'agent', 'session'],
  polls: true,
  asks: (visit) => {
    const { ask, rows, params, may } = visit;
    const held = askHeld(visit);
    const tenant_id = params.tenant_id!;
    return {
      deliveries: ask(rows.listTenantDeliveries, { tenant_id, limit: RECENT, preview: true }),
      agents: ask(rows.listAgents, { tenant_id, limit: RECENT }),
      approvals: ask(rows.listApprovals, { tenant_id, status: 'open', limit: RECENT }),
      held,
      // Only names that are needed are read: usually, nothing is held.
      heldNames: held.then((found) => (found?.ok && found.value.length > 0 ? agentNames(visit) : null)),
      ...(may('tenant:audit:read') ? { audit: ask(rows.listAuditLogs, { tenant_id, limit: RECENT }) } : {}),
    };
  },
  title: (_, visit) => nameOf(visit),
  view: ({ deliveries, agents, approvals, held, heldNames, audit }, visit) => {
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const names = new Map(agents.ok ? agents.value.map(({ id, name }) => [id, name]) : []);
    return [
      heading(
        nameOf(visit),
        visit.tenant ? `You are ${visit.tenant.role} of this tenant.` : 'You read this tenant as a super-admin. Each read is recorded.',
      ),
      openApprovals(visit, approvals),
      heldCard(visit, held, { agents: namesIn(heldNames), limit: RECENT }),
      titled(
        'Latest deliveries',
        at('/deliveries'),
        panel(deliveries, (found) =>
          found.length > 0 ? deliveryTable(found, { tenantPath: at, agents: names }, 'Latest deliveries') : noDeliveries(visit),
        ),
      ),
      div(
        { class: 'columns' },
        titled(
          'Agents',
          at('/agents'),
          panel(agents, (found) =>
            found.length > 0
              ? ul(
                  { class: 'lines' },
                  ...found.map(({ id, name, slug, is_active }) =>
                    li(
                      { 'data-kind': 'agent', 'data-id': id },
                      a(
                        { href: at(`/agents/${id}`), class: 'row-link' },
                        icon('bot'),
                        span({ class: 'sentence' }, strong(null, name), ' ', span({ class: 'quiet' }, slug)),
                      ),
                      badge(is_active ? 'active' : 'inactive'),
                    ),
                  ),
                )
              : emptyState(
                  {
                    icon: 'bot',
                    title: 'No agents yet',
                    why: 'Deliveries are sent to the runner of an agent, so an agent comes first.',
                  },
                  visit.may('tenant:integrations:write')
                    ? a({ href: at('/start'), class: 'button' }, 'First steps')
                    : a({ href: at('/agents'), class: 'button' }, 'To the agents'),
                ),
          ),
        ),
        audit
          ? titled(
              'Latest changes',
              at('/audit'),
              panel(audit, (found) =>
                found.length > 0
                  ? ul(
                      { class: 'lines' },
                      ...found.map(({ id, summary, created_at, position }) =>
                        li(
                          { 'data-kind': 'audit', 'data-id': id, 'data-position': position },
                          span({ class: 'sentence' }, summary),
                          ago(created_at),
                        ),
                      ),
                    )
                  : emptyState(
                      { icon: 'scroll-text', title: 'Nothing happened yet', why: 'Every change of this tenant appears here.' },
                      a({ href: at('/audit'), class: 'button' }, 'To the audit log'),
                    ),
              ),
            )
          : null,
      ),
    ];
  },
});
