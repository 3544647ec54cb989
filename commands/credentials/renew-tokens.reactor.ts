import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { isAboutAccount, refusalOfTokenError, type TokenError } from '../../domain/credentials/token-error.ts';
import type { Actor } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Secret, secret } from '../../domain/secret.ts';
import { tokensText } from './finish-link.ts';
import type { ClearTokens } from './linked-identity.ts';
import type { IssuedTokens, OAuthClients } from './oauth-clients.ts';

export type IdentityRef = { readonly tenant_id: string; readonly id: string };

/**
 * The functions that the reactor needs: to load an identity, to decrypt and encrypt its secret, and to append events.
 */
export type RenewalPorts = {
  readonly oauth: Pick<OAuthClients, 'configured' | 'refresh' | 'revoke'>;
  readonly load: (identity: IdentityRef) => Promise<LinkedIdentity.LinkedIdentity>;
  readonly open: (identity: IdentityRef, sealed: string) => Promise<Secret>;
  readonly seal: (identity: IdentityRef, text: Secret) => Promise<string>;
  readonly transact: (
    identity: IdentityRef,
    decide: (state: LinkedIdentity.LinkedIdentity) => readonly LinkedIdentity.LinkedIdentityEvent[],
  ) => Promise<void>;
};

/** The actor of the events of the reactor. */
export const RENEWER: Actor = { kind: 'system', id: 'annals' };

type Open = { readonly ref: IdentityRef; readonly sealed: string; readonly provider: string; readonly tokens: ClearTokens };

/**
 * Renews tokens, or returns the error of the provider if it is about the account.
 * @throws Refusal unavailable, bad_gateway for all other errors
 */
const refresh = async (oauth: RenewalPorts['oauth'], provider: string, refresh_token: Secret): Promise<IssuedTokens | TokenError> => {
  const answer = await oauth.refresh(provider, refresh_token);
  if ('error' in answer && !isAboutAccount(answer.error)) throw refusalOfTokenError(provider, answer);
  return answer;
};

const renew = async ({ oauth, seal, transact }: RenewalPorts, { ref, sealed, provider, tokens }: Open): Promise<void> => {
  if (tokens.refresh_token === null) return;
  const answer = await refresh(oauth, provider, secret(tokens.refresh_token)).catch(async (error) => {
    if (error instanceof Refusal) await transact(ref, LinkedIdentity.recordFailure(sealed, error.message));
    throw error;
  });
  if ('error' in answer) return transact(ref, LinkedIdentity.refuseRefresh(sealed, answer.error));
  const { scopes, expires_at } = answer;
  const sealed_tokens = await seal(ref, secret(tokensText(answer)));
  await transact(
    ref,
    LinkedIdentity.refreshTokens(sealed, { scopes, expires_at, sealed_tokens, refreshable: answer.refresh_token !== null }),
  );
};

const revoke = async ({ oauth, transact }: RenewalPorts, { ref, sealed, provider, tokens }: Open): Promise<void> => {
  const { access_token, refresh_token } = tokens;
  const clear = { access_token: secret(access_token), refresh_token: refresh_token === null ? null : secret(refresh_token) };
  const outcome = oauth.configured.includes(provider) ? await oauth.revoke(provider, clear) : 'unsupported';
  await transact(ref, LinkedIdentity.recordRevocation(sealed, outcome));
};

/** Returns whether the tokens of a linked identity must be renewed at `at` (RFC 3339 UTC). */
const isDue = ({ updated_at, ...identity }: LinkedIdentity.LinkedIdentity, at: string): boolean => {
  const due = LinkedIdentity.refreshAt(identity, updated_at);
  return identity.connected && due !== null && due <= at;
};

/**
 * Renews the tokens of an identity if this is due at `at`. If the identity was unlinked, revokes them instead. The read
 * model that names the identity may be outdated, so its events are read first. Why the tokens cannot be renewed now is
 * recorded.
 * @throws Refusal unavailable, bad_gateway
 */
export const renewOrRevoke = async (ports: RenewalPorts, ref: IdentityRef, at: string): Promise<void> => {
  const identity = await ports.load(ref);
  const { status, sealed, provider, database } = identity;
  if (sealed === null || database !== null) return;
  const isRenewal = status === 'linked' && isDue(identity, at) && ports.oauth.configured.includes(provider);
  if (!isRenewal && status !== 'unlinked') return;
  const tokens = JSON.parse((await ports.open(ref, sealed)).reveal()) as ClearTokens;
  const opened = { ref, sealed, provider, tokens };
  await (isRenewal ? renew(ports, opened) : revoke(ports, opened));
};
