import { z } from 'zod';
import type { Loaded } from '../../commands/context.ts';
import { BreakGlass, openTenant } from '../../commands/tenants/super-admin-access.ts';
import {
  AdminTenantUpdate,
  changeTenantSettings,
  closeTenant,
  createTenant,
  loadKeptTenant,
  loadTenant,
  Reason,
  reopenTenant,
  resumeTenant,
  suspendTenant,
  TenantCreate,
  TenantUpdate,
  updateTenantAsPlatform,
} from '../../commands/tenants/tenant.ts';
import * as Plan from '../../domain/billing/plan.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type * as Tenant from '../../domain/tenants/tenant.ts';
import { agentCount } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { costs } from '../../projections/billing/cost.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { sessions } from '../../projections/sessions/session.ts';
import { lastActiveAt, TENANT_SORTS, tenantPage } from '../../projections/tenants/tenant.queries.ts';
import { AdminTenantCreated, AdminTenantDetailRead, AdminTenantRead, TenantRead, tenants } from '../../projections/tenants/tenant.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery, listQuery, windowOf } from '../http/paging.ts';
import { staleIfError } from '../http/stale-if-error.ts';
import { summariesOf, summariesOrLastKnown, type TenantSummaries } from './tenant-summaries.ts';

const ADMIN_TENANT = '/admin/tenants/:tenant_id';
const TENANT = '/tenant/:tenant_id';

const BreakGlassOpened = z
  .object({
    tenant_id: idOf('tenant'),
    user_id: idOf('user', 'The super-admin who may read the tenant'),
    reason: z.string().meta({ description: 'Why', examples: ['Support request 4711'] }),
    until: Timestamp.meta({ description: 'When the access ends' }),
  })
  .meta({ id: 'BreakGlassOpened' });

type TenantStatistics = { readonly agent_count: number; readonly last_active_at: string | null };

/** Returns the data about a tenant that are only in the read models. @throws Refusal unavailable */
const statisticsOf = async ({ reads }: Ctx, id: string): Promise<TenantStatistics> => {
  const [agent_count, last_active_at] = await Promise.all([agentCount(reads, id), lastActiveAt(reads, id)]);
  return { agent_count, last_active_at };
};
const lastKnownStatistics = staleIfError<TenantStatistics>({ agent_count: 0, last_active_at: null });

/**
 * Returns the same as `statisticsOf`, for the response to a mutation. The mutation is already recorded, so the response
 * must not fail: if the read models are unavailable, the last known values are returned, or 0 and null if there are
 * none.
 */
const statisticsOrLastKnown = (ctx: Ctx, { id }: Loaded<Tenant.Tenant>): Promise<TenantStatistics> =>
  ctx.sideEffect(() => lastKnownStatistics(ctx.reads, id, statisticsOf(ctx, id)));

const stateWithCounts = ({ state }: Loaded<Tenant.Tenant>, { agent_count }: TenantStatistics) => ({
  ...state,
  member_count: Object.keys(state.members).length,
  agent_count,
});

const withCounts = async (ctx: Ctx, loaded: Loaded<Tenant.Tenant>) => ({
  ...loaded,
  state: stateWithCounts(loaded, await statisticsOrLastKnown(ctx, loaded)),
});

const withPlan = async (ctx: Ctx, loaded: Loaded<Tenant.Tenant>) => ({
  ...loaded,
  state: { ...loaded.state, plan: (await ctx.load(Plan, loaded.state.plan_id)).state },
});

const withDetails = async (ctx: Ctx, loaded: Loaded<Tenant.Tenant>, statistics: TenantStatistics, summaries: TenantSummaries) => {
  const { plan } = (await withPlan(ctx, loaded)).state;
  return { ...loaded, state: { ...stateWithCounts(loaded, statistics), plan, ...summaries, last_active_at: statistics.last_active_at } };
};

const withReason = { method: 'post', body: Reason } as const;

export const tenantOperations = {
  listTenants: operation({
    method: 'get',
    path: '/admin/tenants',
    summary: 'List the tenants',
    permit: 'platform',
    query: listQuery(
      { q: z.string().min(1).max(255).optional().meta({ description: 'Only tenants with this text in their name, slug or id' }) },
      TENANT_SORTS,
    ),
    reply: z.array(AdminTenantRead),
    projection: tenants.name,
    run: (ctx, { q, ...window }) => tenantPage(ctx.reads, q, windowOf(window, TENANT_SORTS)),
  }),
  createTenant: operation({
    method: 'post',
    path: '/admin/tenants',
    summary: 'Create a tenant',
    details: 'Only this response shows the API key of its owner.',
    permit: 'platform',
    body: TenantCreate,
    reply: AdminTenantCreated,
    status: 201,
    location: '/admin/tenants/:id',
    oneTimeSecret: true,
    run: createTenant,
  }),
  readTenantAsPlatform: operation({
    method: 'get',
    path: ADMIN_TENANT,
    summary: 'Read a tenant with its plan and usage',
    details: 'The usage is that of the last 30 days. A tenant that is closed for good can be read until it is erased.',
    permit: 'platform',
    reply: AdminTenantDetailRead,
    noConditionalGet: true,
    projection: agents.name,
    otherProjections: [tenants.name, costs.name, sessions.name, deliveries.name],
    run: async (ctx) => {
      const loaded = await loadKeptTenant(ctx);
      const [statistics, summaries] = await Promise.all([statisticsOf(ctx, ctx.tenant), summariesOf(ctx)]);
      return withDetails(ctx, loaded, statistics, summaries);
    },
  }),
  updateTenantAsPlatform: operation({
    method: 'patch',
    path: ADMIN_TENANT,
    summary: 'Update a tenant as the platform',
    permit: 'platform',
    body: AdminTenantUpdate,
    reply: AdminTenantDetailRead,
    run: async (ctx, input) => {
      const loaded = await updateTenantAsPlatform(ctx, input);
      return withDetails(ctx, loaded, await statisticsOrLastKnown(ctx, loaded), await summariesOrLastKnown(ctx));
    },
  }),
  suspendTenant: operation({
    ...withReason,
    path: `${ADMIN_TENANT}/suspend`,
    summary: 'Suspend a tenant',
    details: 'Its members and keys are refused until it is resumed.',
    permit: 'platform',
    reply: AdminTenantRead,
    run: async (ctx, input) => withCounts(ctx, await suspendTenant(ctx, input)),
  }),
  resumeTenant: operation({
    ...withReason,
    path: `${ADMIN_TENANT}/resume`,
    summary: 'Resume a suspended tenant',
    permit: 'platform',
    reply: AdminTenantRead,
    run: async (ctx, input) => withCounts(ctx, await resumeTenant(ctx, input)),
  }),
  openTenant: operation({
    method: 'post',
    path: `${ADMIN_TENANT}/break-glass`,
    summary: 'Open a tenant for reading',
    details: "The calling super-admin can read the tenant for a limited time. The tenant's audit log shows it.",
    permit: { all: ['platform'], recentSignIn: true },
    body: BreakGlass,
    reply: BreakGlassOpened,
    status: 201,
    run: openTenant,
  }),
  readTenant: operation({
    method: 'get',
    path: TENANT,
    summary: 'Read the tenant',
    permit: 'tenant:read',
    query: asOfQuery,
    reply: TenantRead,
    run: async (ctx) => withPlan(ctx, await loadTenant(ctx)),
  }),
  changeTenantSettings: operation({
    method: 'patch',
    path: TENANT,
    summary: "Change the tenant's settings",
    permit: 'tenant:settings:write',
    body: TenantUpdate,
    reply: TenantRead,
    run: async (ctx, input) => withPlan(ctx, await changeTenantSettings(ctx, input)),
  }),
  closeTenant: operation({
    ...withReason,
    path: `${TENANT}/close`,
    summary: 'Close the tenant',
    details: 'It can be reopened for 30 days.',
    permit: 'tenant:close',
    reply: TenantRead,
    run: async (ctx, input) => withPlan(ctx, await closeTenant(ctx, input)),
  }),
  reopenTenant: operation({
    ...withReason,
    path: `${TENANT}/reopen`,
    summary: 'Reopen a tenant that is being closed',
    permit: 'tenant:close',
    reply: TenantRead,
    run: async (ctx, input) => withPlan(ctx, await reopenTenant(ctx, input)),
  }),
};
