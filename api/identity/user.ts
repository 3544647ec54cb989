import { z } from 'zod';
import { AdminUserUpdate, updateUser } from '../../commands/identity/user.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { membershipsOf, USER_SORTS, userPage } from '../../projections/identity/user.queries.ts';
import { AdminUserRow, users } from '../../projections/identity/user.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';
import { staleIfError } from '../http/stale-if-error.ts';

type Tenancy = Pick<z.output<typeof AdminUserRow>, 'tenant_count' | 'primary_tenant'>;

/** Returns the number of a user's tenants, and the tenant that the user joined first. @throws Refusal unavailable */
const tenancyOf = async (ctx: Ctx, user_id: string): Promise<Tenancy> => {
  const memberships = await membershipsOf(ctx.reads, user_id);
  const [oldest] = memberships;
  if (!oldest) return { tenant_count: 0, primary_tenant: null };
  const { state } = await ctx.load(Tenant, oldest.tenant_id);
  return { tenant_count: memberships.length, primary_tenant: { id: oldest.tenant_id, name: state.name, role: oldest.role } };
};

const lastKnownTenancy = staleIfError<Tenancy>({ tenant_count: 0, primary_tenant: null });

/**
 * Returns the same as `tenancyOf`, for the response to a mutation. The mutation is already recorded, so the response
 * must not fail: if the read model is unavailable, the last known values are returned, or 0 and null if there are none.
 */
const tenancyOrLastKnown = (ctx: Ctx, user_id: string): Promise<Tenancy> => lastKnownTenancy(ctx.reads, user_id, tenancyOf(ctx, user_id));

export const userOperations = {
  listUsers: operation({
    method: 'get',
    path: '/api/v1/admin/users',
    summary: 'List the users of the platform',
    permit: 'platform',
    query: listQuery(
      { q: z.string().min(1).max(255).optional().meta({ description: 'Only users with this text in their name or e-mail address' }) },
      USER_SORTS,
    ),
    reply: z.array(AdminUserRow),
    projection: users.name,
    run: async (ctx, { q, ...window }) => {
      const page = await userPage(ctx.reads, q, windowOf(window, USER_SORTS));
      const users = JSON.parse(page.body) as { id: string }[];
      const rows = await Promise.all(users.map(async (user) => ({ ...user, ...(await tenancyOf(ctx, user.id)) })));
      return { ...page, body: JSON.stringify(z.array(AdminUserRow).parse(rows)) };
    },
  }),
  updateUser: operation({
    method: 'patch',
    path: '/api/v1/admin/users/:user_id',
    summary: 'Change a user',
    details: 'Suspends or resumes the user; grants or revokes the super-admin role.',
    permit: { all: ['platform'], recentSignIn: true },
    body: AdminUserUpdate,
    reply: AdminUserRow,
    run: async (ctx, input) => {
      const loaded = await updateUser(ctx, input);
      return { ...loaded, state: { ...loaded.state, ...(await ctx.sideEffect(() => tenancyOrLastKnown(ctx, loaded.id))) } };
    },
  }),
};
