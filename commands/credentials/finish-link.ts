import * as IdentityLink from '../../domain/credentials/identity-link.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { isId25 } from '../../domain/id.ts';
import * as User from '../../domain/identity/user.ts';
import type { Provider } from '../../domain/integrations/provider.ts';
import { Refusal } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import type { Ctx, Loaded } from '../context.ts';
import { ensureIntegration } from '../integrations/ensure-integration.ts';
import { verifierLocation } from './connect-provider.ts';
import { type ClearTokens, identitySecret } from './linked-identity.ts';
import type { IssuedTokens, OAuthClients } from './oauth-clients.ts';

/** What a browser brings back: `state`, the cookie of the attempt, and the whole query string. */
export type Callback = { readonly state: string; readonly browser: string; readonly query: string };

export const linkIdOf = (state: string): string | null => {
  const [id = '', random = ''] = state.split('.');
  return isId25(id) && /^[0-9A-Za-z]{32}$/.test(random) && state.length === id.length + random.length + 1 ? id : null;
};

export const tokensText = ({ access_token, refresh_token }: IssuedTokens): string =>
  JSON.stringify({
    access_token: access_token.reveal(),
    refresh_token: refresh_token?.reveal() ?? null,
  } satisfies ClearTokens);

/** Loads the attempt to connect, with the user who started it in this browser. @throws Refusal unauthorized */
export const loadStartedLink = async (ctx: Ctx, { state, browser }: Callback) => {
  const id = linkIdOf(state);
  const { state: link } = id === null ? { state: IdentityLink.initial } : await ctx.load(IdentityLink, id);
  IdentityLink.assertStarted(link, ctx.secrets.digest(state), ctx.secrets.digest(browser), ctx.at());
  const { state: user } = await ctx.load(User, link.user_id ?? '');
  if (!User.isActive(user)) throw new Refusal('unauthorized', 'The user who has started to connect the account is not active');
  return { link, user };
};

export type HasIntegration = (agent_id: string, provider: string) => Promise<boolean>;

const addIntegration = async (ctx: Ctx, agent_id: string, provider: string, has: HasIntegration): Promise<void> => {
  if (!(await has(agent_id, provider))) await ensureIntegration(ctx, agent_id, provider as Provider);
};

/**
 * Gets the tokens and links the account; `state` cannot be used again. `ctx` is that of the user who started the attempt. For an agent,
 * also creates a webhook integration.
 * @throws Refusal unauthorized, forbidden, not_found, bad_gateway, unavailable
 */
export const finishLink = async (
  ctx: Ctx,
  link: IdentityLink.IdentityLink,
  { oauth, has, callback: { state, browser, query } }: { oauth: OAuthClients; has: HasIntegration; callback: Callback },
): Promise<Loaded<LinkedIdentity.LinkedIdentity>> => {
  const { tenant_id, agent_id, provider } = link;
  await ctx.require(agent_id === null ? 'tenant:credentials:write' : 'agent:settings:write', agent_id ?? undefined);
  oauth.assertConfigured(provider);
  await ctx.transact(IdentityLink, link.id, IdentityLink.answer(ctx.secrets.digest(state), ctx.secrets.digest(browser), ctx.at()));
  const verifier = await ctx.secrets.open(verifierLocation(tenant_id, link.id), link.sealed_verifier);
  const tokens = await oauth.exchange({ provider, query, state, verifier: verifier.reveal() });
  const id = ctx.secrets.uniqueId(LinkedIdentity.KIND, LinkedIdentity.identityKey(agent_id ?? tenant_id, provider));
  const sealed_tokens = await ctx.secrets.seal(identitySecret(tenant_id, id), secret(tokensText(tokens)));
  const { scopes, expires_at } = tokens;
  const fields = { scopes, expires_at, sealed_tokens, refreshable: tokens.refresh_token !== null };
  const identity = { agent_id, provider, label: oauth.labelOf(provider), ...fields };
  const linked = await ctx.transact(LinkedIdentity, id, LinkedIdentity.link(identity));
  const webhooks = oauth.webhooksOf(provider);
  if (agent_id !== null && webhooks !== null) await addIntegration(ctx, agent_id, webhooks, has);
  return linked;
};
