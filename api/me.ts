import { z } from 'zod';
import * as Agent from '../domain/agent.ts';
import { Id25 } from '../domain/id.ts';
import * as Tenant from '../domain/tenant.ts';
import { TENANT_ROLES } from '../domain/tenant.ts';
import * as User from '../domain/user.ts';
import type { Ctx } from './operation.ts';
import { operation } from './operation.ts';

const MeRead = z
  .object({
    user: z.object({ id: Id25, email: z.string(), name: z.string().nullable(), is_super_admin: z.boolean() }).nullable(),
    tenants: z.array(z.object({ id: Id25, name: z.string(), slug: z.string(), role: z.enum(TENANT_ROLES).nullable() })),
    agent: z.object({ id: Id25, name: z.string(), slug: z.string() }).nullable(),
    actor: z.object({ kind: z.enum(['user', 'agent', 'system']), id: z.string(), key_id: z.string().nullish() }),
  })
  .meta({ id: 'MeRead' });

const tenantOf = async (ctx: Ctx, id: string, user_id: string | null) => {
  const { state } = await ctx.load(Tenant, id);
  return { id, name: state.name, slug: state.slug, role: user_id ? (state.members[user_id]?.role ?? null) : null };
};

/** Who the caller is: a user with the tenant of the key, or the agent whose runner it is. */
const me = async (ctx: Ctx) => {
  const { principal, actor } = ctx;
  const runner = principal.kind === 'runner' ? principal : null;
  const user = principal.kind === 'user' ? (await ctx.load(User, principal.user_id)).state : null;
  const bound = runner?.tenant_id ?? (principal.kind === 'user' ? principal.bound_to : null);
  const agent = runner ? (await ctx.load(Agent, runner.agent_id, { tenant: runner.tenant_id })).state : null;
  const tenants = bound ? [await tenantOf(ctx, bound, user?.id ?? null)] : [];
  return { id: actor.id, revision: -1, position: null, state: { user, tenants, agent, actor } };
};

export const meOperations = {
  readMe: operation({ method: 'get', path: '/me', summary: 'Who the caller is', permit: 'any', reply: MeRead, run: me }),
};
