import { z } from 'zod';
import { displayText, integer } from '../../domain/fields.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx, Input } from '../context.ts';

export const BreakGlass = z
  .strictObject({
    reason: displayText(1, 1024).meta({ description: "Why; the tenant's audit log shows it", examples: ['Support request 4711'] }),
    minutes: integer(1, 480).meta({ description: 'For how many minutes the tenant is open', examples: [30] }),
  })
  .meta({ id: 'BreakGlass' });

/** Read access for the calling super-admin; the tenant's audit log shows it with the reason. @throws Refusal forbidden, not_found */
export const openTenant = async (ctx: Ctx, { tenant_id, reason, minutes }: Input<typeof BreakGlass, 'tenant_id'>) => {
  const until = new Date(Date.parse(ctx.at()) + minutes * 60_000).toISOString();
  const loaded = await ctx.transact(Tenant, tenant_id, Tenant.openToSuperAdmin(ctx.actor.id, reason, until));
  return { ...loaded, state: { tenant_id, user_id: ctx.actor.id, reason, until: loaded.state.super_admin_access[ctx.actor.id]! } };
};
