import * as Tenant from '../../domain/tenants/tenant.ts';
import type { ReactorCtx } from '../context.ts';

/**
 * Closes the tenant if its waiting period has ended. Its events decide, because the read model may be outdated: not twice or too early,
 * even with two processes or a crash.
 * @throws Refusal not_found if the stream of the tenant was deleted
 */
export const closeTenant = (ctx: ReactorCtx, id: string) => ctx.inTenant(id).transact(Tenant, id, Tenant.closeForGood(ctx.at()));
