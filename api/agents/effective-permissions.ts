import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { effectivePermissions, effectivePermissionsOf } from '../../domain/access/permission.ts';
import { LABELS, PERMISSION_OF_LABEL } from '../../domain/agents/role-permissions.ts';
import { tokenOf } from '../../domain/event.ts';
import { idOf } from '../../domain/id.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { AsOf } from '../http/paging.ts';
import { DecidingEvent, decidingEvents } from './deciding-event.ts';

/** A permission on an agent: its identifier, which `/me` and problem documents use, and the label that people see. */
export const PermissionRead = z.object({
  id: z.enum(Object.values(PERMISSION_OF_LABEL)).meta({ description: 'The identifier of the permission' }),
  label: z.enum(LABELS).meta({ description: 'The name of the permission for people' }),
});

const EffectivePermissions = z
  .object({
    user_id: idOf('user'),
    agent_id: idOf('agent'),
    as_of: z.string().meta({
      description: 'The time of the answer, or the position that `as_of` was resolved to',
      examples: ['2026-03-14T09:26:53.589Z'],
    }),
    permissions: z
      .array(
        PermissionRead.extend({
          allowed: z.boolean().meta({ description: 'Whether the user has the permission', examples: [true] }),
          decided_by: DecidingEvent.nullable().meta({ description: 'The event that gave or refused the permission; null if no event did' }),
        }),
      )
      .meta({ description: 'Every permission on agents' }),
  })
  .meta({ id: 'EffectivePermissions' });

/**
 * Returns the effective permissions of the caller on an agent, limited by the caller's API key. A caller with
 * `agent:roles:write` or `tenant:audit:read` may name another user instead. There is no ETag, because the result
 * depends on two streams: that of the tenant and that of the agent.
 * @throws Refusal forbidden if the caller may not name another user
 */
const readEffective = async (ctx: Ctx, { agent_id, user_id }: { agent_id: string; user_id?: string | undefined }) => {
  const caller = ctx.principal.kind === 'user' ? ctx.principal.user_id : '';
  const subject = user_id ?? caller;
  if (subject !== caller && !(await ctx.may('agent:roles:write', agent_id)) && !(await ctx.may('tenant:audit:read')))
    throw new Refusal('forbidden', 'This needs the permission agent:roles:write or tenant:audit:read');
  const [agent, tenant] = await Promise.all([loadAgent(ctx, agent_id), ctx.load(Tenant, ctx.tenant)]);
  const permissions =
    ctx.principal.kind === 'user' && subject === caller
      ? effectivePermissionsOf(tenant.state, ctx.principal, agent.state)
      : effectivePermissions(tenant.state, subject, agent.state);
  const decidedBy = decidingEvents(ctx);
  const decided = permissions.map(async (one) => ({ ...one, decided_by: one.decided_by && (await decidedBy(one.decided_by)) }));
  const as_of = ctx.asOf ? tokenOf(ctx.asOf) : ctx.at();
  return { ...agent, revision: -1, state: { user_id: subject, agent_id, as_of, permissions: await Promise.all(decided) } };
};

export const effectivePermissionOperations = {
  readEffectivePermissions: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/:agent_id/effective-permissions',
    summary: 'Read what a user may do with the agent',
    details: 'Each permission names the event that decided it.',
    permit: 'agent:read',
    permissionNote: 'Requires the permission `agent:read`; for another user also `agent:roles:write` or `tenant:audit:read`.',
    query: z.strictObject({ user_id: idOf('user', 'The user; default: the caller').optional(), as_of: AsOf }),
    reply: EffectivePermissions,
    noETag: true,
    run: readEffective,
  }),
};
