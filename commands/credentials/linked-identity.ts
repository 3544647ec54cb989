import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import type { Ctx, Loaded, SecretLocation } from '../context.ts';

/** Returns the location of the encrypted secret of a linked identity: the password of a database, or tokens. */
export const identitySecret = (tenant: string, id: string): SecretLocation => ({
  tenant,
  category: LinkedIdentity.category,
  id,
  field: 'secret',
});

/** OAuth tokens in clear text. */
export type ClearTokens = { readonly access_token: string; readonly refresh_token: string | null };

/**
 * Unlinks an identity: from then on, no runner gets its secret, and a reactor soon revokes its tokens at the provider.
 * @throws Refusal not_found
 */
export const unlinkIdentity = (ctx: Ctx, { id }: { readonly id: string }) => ctx.transact(LinkedIdentity, id, LinkedIdentity.unlink);

/** Loads those identities of an agent at these providers that are linked and can be used. */
const identitiesOf = async (ctx: Ctx, agent_id: string, providers: readonly string[]): Promise<Loaded<LinkedIdentity.LinkedIdentity>[]> => {
  const loaded = await Promise.all(
    providers.map((provider) =>
      ctx.load(LinkedIdentity, ctx.uniqueId(LinkedIdentity.KIND, LinkedIdentity.identityKey(agent_id, provider))),
    ),
  );
  return loaded.filter(({ state }) => state.status === 'linked' && state.connected);
};

/**
 * Returns the access tokens of the agent's identities at these providers, in clear text. Expired tokens are left out.
 */
export const agentCredentials = async (ctx: Ctx, agent_id: string, providers: readonly string[]) => {
  const loaded = await identitiesOf(ctx, agent_id, providers);
  const usable = loaded.filter(({ state: { expires_at } }) => expires_at === null || expires_at > ctx.at());
  const credentials = await Promise.all(
    usable.map(async ({ id, state: { provider, label, sealed } }) => {
      const tokens = JSON.parse((await ctx.open(identitySecret(ctx.tenant, id), sealed!)).reveal()) as ClearTokens;
      return { provider, label, secret: tokens.access_token };
    }),
  );
  return { credentials, loaded: usable };
};
