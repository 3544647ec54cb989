import * as Tenant from '../../domain/tenants/tenant.ts';
import type { ReactorCtx } from '../context.ts';

/**
 * Closes a tenant for good if its waiting period has ended. The events of the tenant decide, because the read model may
 * be outdated. So no tenant is closed twice or too early, even if there are two processes or a crash.
 * @throws Refusal not_found if the stream of the tenant was deleted
 */
export const closeTenant = (ctx: ReactorCtx, id: string) => ctx.inTenant(id).transact(Tenant, id, Tenant.closeForGood(ctx.at()));
