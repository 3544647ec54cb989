import { z } from 'zod';
import { tenantRoleOf } from '../../domain/access/permission.ts';
import { PLATFORM } from '../../domain/event.ts';
import { displayText, Instant } from '../../domain/fields.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { assertMayChangeKeyOf } from '../../domain/tenants/member.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { includesRole, TENANT_ROLES, type TenantRole } from '../../domain/tenants/tenant-role.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Input, Loaded, UsesSecrets } from '../context.ts';

export const ApiKeyCreate = z
  .strictObject({
    name: displayText(1, 255).meta({ examples: ['CI'] }),
    expires_at: Instant.nullable().default(null).meta({ description: 'When the key stops working; it must be in the future' }),
    read_only: z.boolean().default(false).meta({ description: 'Whether the key may only read' }),
    role: z
      .enum(TENANT_ROLES)
      .nullable()
      .default(null)
      .meta({ description: 'The role to which the key is limited; null: that of its owner. Only keys of a tenant have a role' }),
  })
  .meta({ id: 'ApiKeyCreate' });

export const ApiKeyUpdate = z.strictObject({ name: ApiKeyCreate.shape.name }).meta({ id: 'ApiKeyUpdate' });

type NewKey = Pick<ApiKey.ApiKeyFields, 'name' | 'expires_at'> & Partial<Pick<ApiKey.ApiKeyFields, 'read_only' | 'role'>>;

/** Without a caller, so the command line can provide it, too. */
export type KeyContext = Pick<Ctx, 'at' | 'transact'> & UsesSecrets<'uniqueId' | 'random' | 'digest'>;

type KeyScope = Pick<ApiKey.ApiKeyFields, 'kind' | 'tenant_id' | 'agent_id' | 'owner_id'>;

/** The public id is a part of the API key's text. */
export const apiKeyIdOf = (ctx: UsesSecrets<'uniqueId'>, publicId: string): string => ctx.secrets.uniqueId('apikey', publicId, 0, PLATFORM);

/** Only the response contains the text of the key; it is not stored. @throws Refusal invalid if `expires_at` is not in the future */
export const issueKey = async (
  ctx: KeyContext,
  scope: KeyScope,
  { name, expires_at, read_only = false, role = null }: NewKey,
): Promise<Loaded<ApiKey.ApiKey & { key: string }>> => {
  if (expires_at !== null && Date.parse(expires_at) <= Date.parse(ctx.at())) throw invalid('/expires_at', 'must be in the future');
  const publicId = ctx.secrets.random(8);
  const key = buildKey(publicId, ctx.secrets.random(32));
  const created = await ctx.transact(
    ApiKey,
    apiKeyIdOf(ctx, publicId),
    ApiKey.create({ ...scope, name, expires_at, read_only, role, digest: ctx.secrets.digest(key) }),
    {
      expectNew: true,
      ...(scope.tenant_id === null ? {} : { tenant: scope.tenant_id }),
    },
  );
  return { ...created, state: { ...created.state, key } };
};

const ownerOf = ({ principal }: Ctx): string => {
  if (principal.kind === 'user') return principal.user_id;
  throw new Refusal('forbidden', 'Only a user can create an API key');
};

/** Returns `role` or, without one, the role to which the caller's key is limited (null: no limit). @throws Refusal forbidden if above the caller's */
const roleOfNewKey = async ({ principal, tenant, load }: Ctx, role: TenantRole | null): Promise<TenantRole | null> => {
  if (role === null) return (principal.kind === 'user' && principal.max_role) || null;
  const own = tenantRoleOf((await load(Tenant, tenant)).state, principal);
  if (!own || !includesRole(own, role)) throw new Refusal('forbidden', `You may not create an API key with the role ${role}`);
  return role;
};

/** With the key, the caller can act in the tenant. @throws Refusal forbidden, invalid */
export const createTenantKey = async (ctx: Ctx, input: Input<typeof ApiKeyCreate, 'tenant_id'>) => {
  const role = await roleOfNewKey(ctx, input.role);
  return issueKey(ctx, { kind: 'tenant', tenant_id: ctx.tenant, agent_id: null, owner_id: ownerOf(ctx) }, { ...input, role });
};

/** Only keys for a tenant can have a role. @throws Refusal invalid */
const assertNoRole = ({ role }: z.output<typeof ApiKeyCreate>): void => {
  if (role !== null) throw invalid('/role', 'must be null or absent: only API keys of a tenant have a role', 'no_role');
};

export const createPlatformKey = async (ctx: Ctx, input: Input<typeof ApiKeyCreate>) => {
  assertNoRole(input);
  return issueKey(ctx, { kind: 'platform', tenant_id: null, agent_id: null, owner_id: ownerOf(ctx) }, input);
};

export const createRunnerKey = async (ctx: Ctx, input: Input<typeof ApiKeyCreate, 'tenant_id' | 'agent_id'>) => {
  assertNoRole(input);
  await loadAgent(ctx, input.agent_id);
  return issueKey(ctx, { kind: 'runner', tenant_id: ctx.tenant, agent_id: input.agent_id, owner_id: ownerOf(ctx) }, input);
};

/**
 * `decide` gets the function that says which keys are the tenant's.
 * @throws Refusal not_found, forbidden if it is an OWNER's key and the caller is not an OWNER
 */
const changeTenantKey = async (
  ctx: Ctx,
  id: string,
  decide: (isInScope: (key: ApiKey.ApiKey) => boolean) => (key: ApiKey.ApiKey) => ApiKey.ApiKeyEvent[],
) => {
  const { state: tenant } = await ctx.load(Tenant, ctx.tenant);
  const change = decide((key) => key.kind === 'tenant' && key.tenant_id === ctx.tenant);
  return ctx.transact(ApiKey, id, (key) => {
    const events = change(key);
    assertMayChangeKeyOf(tenant, tenantRoleOf(tenant, ctx.principal), key.owner_id);
    return events;
  });
};

/** @throws Refusal not_found, forbidden if the key belongs to an OWNER and the caller is not an OWNER */
export const renameTenantKey = (ctx: Ctx, { id, name }: Input<typeof ApiKeyUpdate, 'tenant_id' | 'id'>) =>
  changeTenantKey(ctx, id, (isInScope) => ApiKey.rename(name, isInScope));

/** @throws Refusal not_found, forbidden if the key belongs to an OWNER and the caller is not an OWNER */
export const revokeTenantKey = (ctx: Ctx, { id }: { id: string }) => changeTenantKey(ctx, id, ApiKey.revoke);

export const revokePlatformKey = (ctx: Pick<Ctx, 'transact'>, { id }: { id: string }) =>
  ctx.transact(
    ApiKey,
    id,
    ApiKey.revoke((key) => key.kind === 'platform'),
  );

export const revokeRunnerKey = (ctx: Ctx, { id, agent_id }: { id: string; agent_id: string }) =>
  ctx.transact(
    ApiKey,
    id,
    ApiKey.revoke((key) => key.kind === 'runner' && key.tenant_id === ctx.tenant && key.agent_id === agent_id),
  );
