import { z } from 'zod';
import { displayText } from '../../domain/fields.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { keyFromDigest, publicIdOf } from '../../domain/identity/api-key-format.ts';
import * as User from '../../domain/identity/user.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Invitation from '../../domain/tenants/invitation.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { TenantRole } from '../../domain/tenants/tenant-role.ts';
import type { Ctx, Loaded, UsesSecrets } from '../context.ts';
import { apiKeyIdOf } from '../identity/api-key.ts';
import { asCaller } from './member.ts';

export const InvitationAccept = z.strictObject({
  token: z
    .string()
    .min(1)
    .max(255)
    .meta({ description: 'The token of the invitation', examples: ['inv_…'] }),
  name: displayText(1, 255).nullish().meta({ description: 'The name of the new API key; default: "Invitation"' }),
});

/** In the response to the request that issues it. No other response contains the token. */
export type InvitationView = Invitation.Invitee & { link: string; url: string; token: string; expires_at: string };

/** What a person with the token may know before they accept it. Times are RFC 3339 UTC. */
export type InvitationPreview = {
  tenant_id: string;
  tenant_name: string;
  user_id: string;
  email: string;
  role: TenantRole;
  invited_by: string;
  expires_at: string;
};

export const ACCEPT_PATH = '/invitations/accept';
export const PREVIEW_PATH = '/invitations/preview';
/** A page of the console. The token is in the fragment, which browsers do not send. */
export const INVITATION_PAGE = '/console/invitation';

const DEFAULT_KEY_NAME = 'Invitation';
const SECRET_LENGTH = 32;
const HOUR_MS = 3_600_000;

/**
 * The member can get one API key with the invitation, which replaces an earlier invitation.
 * @throws Refusal not_found, rate_limited, forbidden if the member has more rights than the caller
 */
export const issueInvitation = async (ctx: Ctx, { user_id }: { user_id: string }): Promise<Loaded<InvitationView>> => {
  await ctx.limitFlow('invite');
  const invitee = { tenant_id: ctx.tenant, user_id };
  const token = Invitation.buildToken(invitee, ctx.secrets.random(SECRET_LENGTH));
  const expires_at = new Date(Date.parse(ctx.at()) + Invitation.INVITATION_LIFETIME_HOURS * HOUR_MS).toISOString();
  const issue = asCaller(ctx, (callerRole) => Invitation.issue(user_id, callerRole, { digest: ctx.secrets.digest(token), expires_at }));
  const loaded = await ctx.transact(Tenant, ctx.tenant, issue);
  return {
    ...loaded,
    state: { ...invitee, link: `${ctx.publicUrl}${INVITATION_PAGE}#${token}`, url: `${ctx.publicUrl}${ACCEPT_PATH}`, token, expires_at },
  };
};

/**
 * The token must be that of the member's latest invitation, and its issuer not suspended. `ctx` is the platform's.
 * @throws Refusal unauthorized, key_owner_inactive if the member is suspended
 */
export const findInvitee = async (ctx: Pick<Ctx, 'load'> & UsesSecrets<'digest'>, token: string): Promise<Invitation.Invitee> => {
  const invitee = Invitation.inviteeOf(token);
  const unknown = new Refusal('unauthorized', Invitation.NOT_VALID);
  if (!invitee) throw unknown;
  const { state: tenant } = await ctx.load(Tenant, invitee.tenant_id);
  if (!Invitation.isInvitation(tenant, invitee.user_id, ctx.secrets.digest(token)) || Tenant.isClosed(tenant)) throw unknown;
  const { state: issuer } = await ctx.load(User, tenant.invitations[invitee.user_id]!.issuer_id);
  if (!User.isActive(issuer)) throw unknown;
  const { state: user } = await ctx.load(User, invitee.user_id);
  if (!User.isActive(user)) throw new Refusal('key_owner_inactive', 'The invited user is suspended');
  return invitee;
};

/** Returns the user's name or, without one, the e-mail address. */
const nameOf = ({ name, email }: User.User): string => name ?? email;

/**
 * The invitation stays unused. If it cannot be accepted any more, the refusal says who can make another one.
 * @throws Refusal unauthorized if the invitation is not valid, was used or has expired, tenant_suspended, key_owner_inactive
 */
export const previewInvitation = async (
  ctx: Pick<Ctx, 'load' | 'at'> & UsesSecrets<'digest'>,
  token: string,
): Promise<InvitationPreview> => {
  const { tenant_id, user_id } = await findInvitee(ctx, token);
  const { state: tenant } = await ctx.load(Tenant, tenant_id);
  const { issuer_id, expires_at, key_id } = tenant.invitations[user_id]!;
  const [issuer, user] = await Promise.all([issuer_id, user_id].map((id) => ctx.load(User, id)));
  const invited_by = nameOf(issuer!.state);
  const key = key_id === null ? null : await ctx.load(ApiKey, key_id, { tenant: tenant_id });
  if (key !== null && key.state.status !== 'absent')
    throw new Refusal('unauthorized', `The invitation has been used: ${invited_by} can make another one`);
  const reason = Invitation.whyNot(tenant, user_id, ctx.at());
  if (reason === 'expired')
    throw new Refusal('unauthorized', `The invitation expired at ${expires_at}: ${invited_by} can make another one`);
  if (reason === 'withdrawn') throw new Refusal('unauthorized', Invitation.NOT_VALID);
  if (tenant.is_suspended) throw new Refusal('tenant_suspended', 'The tenant is suspended');
  const { role } = tenant.members[user_id]!;
  return { tenant_id, tenant_name: tenant.name, user_id, email: user!.state.email, role, invited_by, expires_at };
};

const createOnce =
  (fields: Parameters<typeof ApiKey.create>[0]) =>
  (key: ApiKey.ApiKey): ApiKey.ApiKeyEvent[] => {
    if (key.status !== 'absent') throw new Refusal('unauthorized', 'The invitation has been used: ask for another one');
    return ApiKey.create(fields)(key);
  };

/**
 * Creates an API key in the context's tenant, and returns its text. The key is derived from the token, so an interrupted request can be
 * repeated without a second key.
 * @throws Refusal unauthorized if the invitation is not valid, was used or has expired, tenant_suspended
 */
export const acceptInvitation = async (
  ctx: Ctx,
  user_id: string,
  { token, name }: z.output<typeof InvitationAccept>,
): Promise<Loaded<ApiKey.ApiKey & { key: string }>> => {
  const key = keyFromDigest(ctx.secrets.digest(`the API key of ${token}`));
  const key_id = apiKeyIdOf(ctx, publicIdOf(key)!);
  const accept = Invitation.accept(user_id, ctx.secrets.digest(token), key_id, ctx.at());
  const { state: tenant } = await ctx.transact(Tenant, ctx.tenant, accept, { ignoreExpectedRevision: true });
  const role = Invitation.maxRoleOf(tenant, user_id);
  const scope = { kind: 'tenant', tenant_id: ctx.tenant, agent_id: null, owner_id: user_id } as const;
  const fields = { ...scope, name: name ?? DEFAULT_KEY_NAME, expires_at: null, role, digest: ctx.secrets.digest(key) };
  const created = await ctx.transact(ApiKey, key_id, createOnce(fields), { expectNew: true, tenant: ctx.tenant });
  return { ...created, state: { ...created.state, key } };
};
