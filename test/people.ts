import { issueKey } from '../commands/apikey.ts';
import { registerUser } from '../commands/tenant.ts';
import * as Member from '../domain/member.ts';
import * as Tenant from '../domain/tenant.ts';
import type { inMemory } from './in-memory.ts';

export type InMemory = Awaited<ReturnType<typeof inMemory>>;

/** Somebody with that role in the tenant (the first one, unless another is named), and a key to act by. */
export const join = async (p: InMemory, role: Tenant.TenantRole, tenant_id = p.tenant_id, email = `${role}@example.com`.toLowerCase()) => {
  const ctx = p.systemContext(tenant_id);
  const { id: user_id } = await registerUser(ctx, email);
  await ctx.transact(Tenant, tenant_id, Member.add(user_id, role, 'OWNER'));
  const made = await issueKey(ctx, { kind: 'tenant', tenant_id, agent_id: null, owner_id: user_id }, { name: role, expires_at: null });
  return { user_id, key: made.state.key, key_id: made.id };
};

/** A second tenant with an owner of its own, by whose key it is asked. */
export const neighbour = async (p: InMemory, slug = 'neighbour') => {
  const made = await p.send('POST', '/admin/tenants', { body: { name: slug, slug, owner_email: `${slug}@example.com` } });
  const { id, owner_key } = made.body as { id: string; owner_key: string };
  return { id, tenant: `/tenant/${id}`, key: owner_key };
};
