import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { countText } from '../../console/parts/count-text.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { usd } from '../../console/parts/money.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { rowMenu } from '../../console/parts/row-menu.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, exact } from '../../console/parts/time.ts';
import { platformPath, tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { MAX_COUNTED } from '../tenant-summaries.ts';

const { a, div, p, span } = tags;

type Tenant = ReplyOf<Rows['readTenantAsPlatform']>;

const isMember = ({ me }: Visit, { id }: Tenant): boolean => me?.tenants.some((tenant) => tenant.id === id) ?? false;

/**
 * Renders the way into a tenant. For members, it is a link; for other super-admins, the form that opens the tenant for
 * a limited time (break-glass).
 */
const entrance = (visit: Visit, tenant: Tenant, until: string | undefined): Child => {
  const into = tenantPath(tenant.id);
  const isOpen = until !== undefined && Date.parse(until) > Date.now();
  if (isMember(visit, tenant) || isOpen) return a({ class: 'button', href: into }, 'Open the tenant');
  if (!tenant.allow_superadmin_access) return null;
  return formLink(visit, visit.rows.openTenant, { tenant_id: tenant.id }, 'Break glass', { look: 'danger', next: into });
};

/** Renders the way into the tenant beside the title, and all changes in a menu: each has a form that names the tenant. */
const actionsFor = (visit: Visit, tenant: Tenant, until: string | undefined): readonly Child[] => {
  const { rows, path } = visit;
  const params = { tenant_id: tenant.id };
  const look = { returnTo: path } as const;
  const erase = formLink(visit, rows.eraseTenant, params, 'Erase', { ...look, look: 'danger' });
  if (tenant.status === 'closed') return [rowMenu('menu-tenant', tenant.name, [erase])];
  return [
    entrance(visit, tenant, until),
    rowMenu('menu-tenant', tenant.name, [
      formLink(visit, rows.updateTenantAsPlatform, params, 'Change the plan', look),
      tenant.is_suspended
        ? formLink(visit, rows.resumeTenant, params, 'Resume', look)
        : formLink(visit, rows.suspendTenant, params, 'Suspend', look),
      erase,
    ]),
  ];
};

const identity = ({ id, slug, plan, plan_status, created_at, last_active_at, billing_email, allow_superadmin_access }: Tenant) =>
  facts({
    Id: shortId(id, 'the id of the tenant'),
    Slug: slug,
    Plan: span(null, plan.name, span({ class: 'quiet' }, ` · ${plan_status.replace('_', ' ')}`)),
    'Invoices go to': billing_email ?? span({ class: 'quiet' }, 'nobody'),
    Since: ago(created_at),
    'Last used by a program': ago(last_active_at),
    'Break-glass': allow_superadmin_access ? 'allowed by the tenant' : 'refused by the tenant',
  });

const upToMax = (count: number): string => `${countText(count)}${count < MAX_COUNTED ? '' : ' or more'}`;

const usage = (tenant: Tenant) => {
  const { member_count, agent_count, plan, usage_summary_30d: used, task_summary_30d: tasks, delivery_summary_30d: received } = tenant;
  return facts({
    Members: `${countText(member_count)} of ${countText(plan.limits.members)}`,
    Agents: `${countText(agent_count)} of ${countText(plan.limits.agents)}`,
    Deliveries: `${upToMax(received.accepted)} accepted, ${upToMax(received.dead)} given up`,
    'Model requests': countText(used.requests),
    'Model costs': usd(used.cost_usd),
    Sessions: `${countText(tasks.total)}, ${countText(tasks.failed)} failed`,
  });
};

const note = (visit: Visit, tenant: Tenant): Child => {
  if (tenant.status === 'closed')
    return p({ class: 'quiet below' }, 'The tenant is closed for good: nobody can open, change or reopen it. It can only be erased.');
  if (tenant.allow_superadmin_access || isMember(visit, tenant)) return null;
  return p({ class: 'quiet below' }, 'The tenant does not allow super-admins to read it. Its OWNER can change that in the settings.');
};

/**
 * Returns the page of a tenant that was erased. The platform's audit log still says when, and by whom. Null for an
 * unknown tenant.
 */
const erasedTenant = async ({ ask, rows, params }: Visit) => {
  const found = await ask(rows.listPlatformAuditLogs, { resource_id: params.id!, action: 'tenant.*' });
  const erased = found.ok ? found.value.find(({ action }) => action === 'tenant.erased') : undefined;
  if (!found.ok || !erased) return null;
  const name = found.value.find(({ resource_name }) => resource_name !== null)?.resource_name ?? 'Tenant';
  return {
    title: name,
    content: [
      heading(name, badge('erased')),
      div(
        { 'data-kind': 'tenant', 'data-id': params.id!, 'data-erased': '' },
        card(
          'This tenant was erased',
          p(null, erased.summary, ' ', exact(erased.created_at)),
          p(
            { class: 'quiet' },
            'Its contents are unreadable, in every backup, too. The chain of its audit log has only digests of them, so it still verifies.',
          ),
          a({ class: 'button', href: platformPath(`/audit-logs?resource_id=${params.id}`) }, 'What the platform did to it'),
        ),
      ),
    ],
  };
};

/** The page of a tenant for super-admins: its plan, its usage, and the forms to suspend and to reopen it. */
export const platformTenantPage = page({
  path: '/console/platform/tenants/:id',
  permit: 'platform',
  nav: 'Tenants',
  polls: true,
  whenMissing: erasedTenant,
  asks: ({ ask, rows, params }) => ({
    tenant: ask(rows.readTenantAsPlatform, { tenant_id: params.id! }),
    mine: ask(rows.readMe, { tenant_id: params.id! }),
  }),
  title: ({ tenant }) => (tenant.ok ? tenant.value.name : 'Tenant'),
  trail: () => [
    ['Platform', platformPath()],
    ['Tenants', platformPath('/tenants')],
  ],
  view: ({ tenant, mine }, visit) => {
    const until = mine.ok ? mine.value.break_glass?.until : undefined;
    const shown = tenant.ok ? tenant.value : null;
    return [
      heading(
        shown ? span(null, shown.name, ' ', badge(shown.status)) : 'Tenant',
        shown?.slug ?? null,
        ...(shown ? actionsFor(visit, shown, until) : []),
      ),
      panel(tenant, (value) =>
        div(
          { 'data-kind': 'tenant', 'data-id': value.id },
          div({ class: 'columns' }, card('Tenant', identity(value)), card('Use in the last 30 days', usage(value))),
          note(visit, value),
        ),
      ),
    ];
  },
});
