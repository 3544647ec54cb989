import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { effectivePermissions } from '../../domain/access/permission.ts';
import { LABELS } from '../../domain/agents/role-permissions.ts';
import { tokenOf } from '../../domain/event.ts';
import { Id25 } from '../../domain/id.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { AsOf } from '../http/paging.ts';

const EffectivePermissions = z
  .object({
    user_id: Id25,
    agent_id: Id25,
    as_of: z.string(),
    permissions: z.array(
      z.object({
        label: z.enum(LABELS),
        allowed: z.boolean(),
        decided_by: z.object({ event_id: z.string(), type: z.string(), at: z.string() }).nullable(),
      }),
    ),
  })
  .meta({ id: 'EffectivePermissions' });

/**
 * Returns the effective permissions of the caller or, if the caller has `agent:roles:write`, of another user. There is
 * no ETag, because the result depends on two streams: that of the tenant and that of the agent.
 * @throws Refusal forbidden
 */
const readEffective = async (ctx: Ctx, { agent_id, user_id }: { agent_id: string; user_id?: string | undefined }) => {
  const caller = ctx.principal.kind === 'user' ? ctx.principal.user_id : '';
  const subject = user_id ?? caller;
  if (subject !== caller && !(await ctx.may('agent:roles:write', agent_id)))
    throw new Refusal('forbidden', 'This needs the permission agent:roles:write');
  const [agent, tenant] = await Promise.all([loadAgent(ctx, agent_id), ctx.load(Tenant, ctx.tenant)]);
  const permissions = effectivePermissions(tenant.state, subject, agent.state);
  return { ...agent, revision: -1, state: { user_id: subject, agent_id, as_of: ctx.asOf ? tokenOf(ctx.asOf) : ctx.at(), permissions } };
};

export const effectivePermissionOperations = {
  readEffectivePermissions: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/:agent_id/effective-permissions',
    summary: 'Read what a user may do with the agent, and which event decided it',
    permit: 'agent:read',
    permissionNote: 'Requires the permission `agent:read`; for another user also `agent:roles:write`.',
    query: z.strictObject({ user_id: Id25.optional(), as_of: AsOf }),
    reply: EffectivePermissions,
    noETag: true,
    run: readEffective,
  }),
};
