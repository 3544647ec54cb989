import { z } from 'zod';
import type { Loaded } from '../../commands/context.ts';
import { BreakGlass, openTenant } from '../../commands/tenants/super-admin-access.ts';
import {
  AdminTenantUpdate,
  changeTenantSettings,
  closeTenant,
  createTenant,
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
import { Id25 } from '../../domain/id.ts';
import type * as Tenant from '../../domain/tenants/tenant.ts';
import { agentCount } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { lastActiveAt, TENANT_SORTS, tenantPage } from '../../projections/tenants/tenant.queries.ts';
import { AdminTenantCreated, AdminTenantDetailRead, AdminTenantRead, TenantRead, tenants } from '../../projections/tenants/tenant.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery, listQuery, windowOf } from '../http/paging.ts';
import { staleIfError } from '../http/stale-if-error.ts';

const ADMIN = '/admin/tenants/:tenant_id';
const OWN = '/tenant/:tenant_id';

const BreakGlassOpened = z
  .object({ tenant_id: Id25, user_id: Id25, reason: z.string(), until: z.string() })
  .meta({ id: 'BreakGlassOpened' });

type Figures = { readonly agent_count: number; readonly last_active_at: string | null };

/** What the views alone know of a tenant. @throws Refusal unavailable */
const figuresOf = async ({ reads }: Ctx, id: string): Promise<Figures> => {
  const [agent_count, last_active_at] = await Promise.all([agentCount(reads, id), lastActiveAt(reads, id)]);
  return { agent_count, last_active_at };
};
const lastKnown = staleIfError<Figures>({ agent_count: 0, last_active_at: null });

/** The same beside a change that was made: while the views are away as they were last, 0 and null where they were never asked. */
const figuresBeside = (ctx: Ctx, { id }: Loaded<Tenant.Tenant>): Promise<Figures> =>
  ctx.sideEffect(() => lastKnown(ctx.reads, id, figuresOf(ctx, id)));

/** The state with how many members and agents there are. */
const counted = ({ state }: Loaded<Tenant.Tenant>, { agent_count }: Figures) => ({
  ...state,
  member_count: Object.keys(state.members).length,
  agent_count,
});

const withCounts = async (ctx: Ctx, loaded: Loaded<Tenant.Tenant>) => ({
  ...loaded,
  state: counted(loaded, await figuresBeside(ctx, loaded)),
});

const withPlan = async (ctx: Ctx, loaded: Loaded<Tenant.Tenant>) => ({
  ...loaded,
  state: { ...loaded.state, plan: (await ctx.load(Plan, loaded.state.plan_id)).state },
});

/** What was used in the last 30 days: nothing until there are sessions. */
const summaries = (ctx: Ctx) => {
  const start = new Date(Date.parse(ctx.at()) - 30 * 86_400_000).toISOString();
  return {
    usage_summary_30d: { requests: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0, period: { start, end: ctx.at() } },
    task_summary_30d: { total: 0, running: 0, completed: 0, failed: 0, cancelled: 0 },
  };
};

const detailed = async (ctx: Ctx, loaded: Loaded<Tenant.Tenant>, known: Figures) => {
  const { plan } = (await withPlan(ctx, loaded)).state;
  const used = await ctx.sideEffect(async () => summaries(ctx));
  return { ...loaded, state: { ...counted(loaded, known), plan, ...used, last_active_at: known.last_active_at } };
};

const reasoned = { method: 'post', body: Reason } as const;

export const tenantOperations = {
  listTenants: operation({
    method: 'get',
    path: '/admin/tenants',
    summary: 'List the tenants',
    permit: 'platform',
    query: listQuery({}, TENANT_SORTS),
    reply: z.array(AdminTenantRead),
    projection: tenants.name,
    run: (ctx, window) => tenantPage(ctx.reads, windowOf(window, TENANT_SORTS)),
  }),
  createTenant: operation({
    method: 'post',
    path: '/admin/tenants',
    summary: "Create a tenant; its owner's key is shown this once",
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
    path: ADMIN,
    summary: 'Read a tenant with its plan and its last 30 days',
    permit: 'platform',
    reply: AdminTenantDetailRead,
    noConditionalGet: true,
    projection: agents.name,
    run: async (ctx) => detailed(ctx, await loadTenant(ctx), await figuresOf(ctx, ctx.tenant)),
  }),
  updateTenantAsPlatform: operation({
    method: 'patch',
    path: ADMIN,
    summary: 'Change a tenant as the platform',
    permit: 'platform',
    body: AdminTenantUpdate,
    reply: AdminTenantDetailRead,
    run: async (ctx, sent) => {
      const loaded = await updateTenantAsPlatform(ctx, sent);
      return detailed(ctx, loaded, await figuresBeside(ctx, loaded));
    },
  }),
  suspendTenant: operation({
    ...reasoned,
    path: `${ADMIN}/suspend`,
    summary: 'Suspend a tenant: its members and keys are refused from then on',
    permit: 'platform',
    reply: AdminTenantRead,
    run: async (ctx, sent) => withCounts(ctx, await suspendTenant(ctx, sent)),
  }),
  resumeTenant: operation({
    ...reasoned,
    path: `${ADMIN}/resume`,
    summary: 'Resume a suspended tenant',
    permit: 'platform',
    reply: AdminTenantRead,
    run: async (ctx, sent) => withCounts(ctx, await resumeTenant(ctx, sent)),
  }),
  openTenant: operation({
    method: 'post',
    path: `${ADMIN}/break-glass`,
    summary: 'Look inside a tenant for a while, which the tenant sees',
    permit: 'platform',
    body: BreakGlass,
    reply: BreakGlassOpened,
    status: 201,
    run: openTenant,
  }),
  readTenant: operation({
    method: 'get',
    path: OWN,
    summary: 'Read the tenant',
    permit: 'tenant:read',
    query: asOfQuery,
    reply: TenantRead,
    run: async (ctx) => withPlan(ctx, await loadTenant(ctx)),
  }),
  changeTenantSettings: operation({
    method: 'patch',
    path: OWN,
    summary: "Change the tenant's settings",
    permit: 'tenant:settings:write',
    body: TenantUpdate,
    reply: TenantRead,
    run: async (ctx, sent) => withPlan(ctx, await changeTenantSettings(ctx, sent)),
  }),
  closeTenant: operation({
    ...reasoned,
    path: `${OWN}/close`,
    summary: 'Begin to close the tenant: for good after 30 days',
    permit: 'tenant:close',
    reply: TenantRead,
    run: async (ctx, sent) => withPlan(ctx, await closeTenant(ctx, sent)),
  }),
  reopenTenant: operation({
    ...reasoned,
    path: `${OWN}/reopen`,
    summary: 'Take back the closing of the tenant',
    permit: 'tenant:close',
    reply: TenantRead,
    run: async (ctx, sent) => withPlan(ctx, await reopenTenant(ctx, sent)),
  }),
};
