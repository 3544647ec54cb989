import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { isAboutAccount, refusalOfTokenError, type TokenError } from '../../domain/credentials/token-error.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Secret, secret } from '../../domain/secret.ts';
import type { ReactorCtx, UsesSecrets } from '../context.ts';
import { tokensText } from './finish-link.ts';
import { type ClearTokens, identitySecret } from './linked-identity.ts';
import type { IssuedTokens, OAuthClients } from './oauth-clients.ts';

type RenewalCtx = Pick<ReactorCtx, 'tenant' | 'load' | 'transact'> & UsesSecrets<'open' | 'seal'>;

export type TokenClients = Pick<OAuthClients, 'configured' | 'refresh' | 'revoke'>;

type Open = { readonly id: string; readonly sealed: string; readonly provider: string; readonly tokens: ClearTokens };

/** Returns the tokens, or an error about the account. @throws Refusal unavailable, bad_gateway for all other errors */
const refresh = async (oauth: TokenClients, provider: string, refresh_token: Secret): Promise<IssuedTokens | TokenError> => {
  const answer = await oauth.refresh(provider, refresh_token);
  if ('error' in answer && !isAboutAccount(answer.error)) throw refusalOfTokenError(provider, answer);
  return answer;
};

const renew = async (ctx: RenewalCtx, oauth: TokenClients, { id, sealed, provider, tokens }: Open): Promise<void> => {
  if (tokens.refresh_token === null) return;
  const answer = await refresh(oauth, provider, secret(tokens.refresh_token)).catch(async (error) => {
    if (error instanceof Refusal) await ctx.transact(LinkedIdentity, id, LinkedIdentity.recordFailure(sealed, error.message));
    throw error;
  });
  if ('error' in answer) return void (await ctx.transact(LinkedIdentity, id, LinkedIdentity.refuseRefresh(sealed, answer.error)));
  const { scopes, expires_at } = answer;
  const sealed_tokens = await ctx.secrets.seal(identitySecret(ctx.tenant, id), secret(tokensText(answer)));
  await ctx.transact(
    LinkedIdentity,
    id,
    LinkedIdentity.refreshTokens(sealed, { scopes, expires_at, sealed_tokens, refreshable: answer.refresh_token !== null }),
  );
};

const revoke = async (ctx: RenewalCtx, oauth: TokenClients, { id, sealed, provider, tokens }: Open): Promise<void> => {
  const { access_token, refresh_token } = tokens;
  const clear = { access_token: secret(access_token), refresh_token: refresh_token === null ? null : secret(refresh_token) };
  const outcome = oauth.configured.includes(provider) ? await oauth.revoke(provider, clear) : 'unsupported';
  await ctx.transact(LinkedIdentity, id, LinkedIdentity.recordRevocation(sealed, outcome));
};

/** `at` is RFC 3339 UTC. */
const isDue = ({ updated_at, ...identity }: LinkedIdentity.LinkedIdentity, at: string): boolean => {
  const due = LinkedIdentity.refreshAt(identity, updated_at);
  return identity.connected && due !== null && due <= at;
};

/**
 * Renews the tokens of an identity if due at `at`; revokes them if the identity was unlinked. Reads the identity's events first, because
 * the read model may be outdated. Records why tokens cannot be renewed now.
 * @throws Refusal unavailable, bad_gateway
 */
export const renewOrRevoke = async (ctx: RenewalCtx, oauth: TokenClients, id: string, at: string): Promise<void> => {
  const { state: identity } = await ctx.load(LinkedIdentity, id);
  const { status, sealed, provider, database } = identity;
  if (sealed === null || database !== null) return;
  const isRenewal = status === 'linked' && isDue(identity, at) && oauth.configured.includes(provider);
  if (!isRenewal && status !== 'unlinked') return;
  const tokens = JSON.parse((await ctx.secrets.open(identitySecret(ctx.tenant, id), sealed)).reveal()) as ClearTokens;
  await (isRenewal ? renew : revoke)(ctx, oauth, { id, sealed, provider, tokens });
};
