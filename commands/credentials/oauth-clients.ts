import type { Revocation } from '../../domain/credentials/linked-identity.ts';
import type { TokenError } from '../../domain/credentials/token-error.ts';
import type { Secret } from '../../domain/secret.ts';

/**
 * Tokens that a provider has issued. `expires_at` is the time at which the access token expires; null if it never
 * expires.
 */
export type IssuedTokens = {
  readonly access_token: Secret;
  readonly refresh_token: Secret | null;
  readonly scopes: readonly string[];
  readonly expires_at: string | null;
};

/** The OAuth clients that this installation has at providers. */
export type OAuthClients = {
  /** The providers for which this installation has a client. */
  readonly configured: readonly string[];
  /**
   * Checks that there is a client for this provider.
   * @throws Refusal not_found if the provider is unknown, not_configured if there is no client
   */
  readonly assertConfigured: (provider: string) => void;
  readonly labelOf: (provider: string) => string;
  /** Returns the name of the webhook provider if the service sends webhooks; otherwise null. */
  readonly webhooksOf: (provider: string) => string | null;
  /** Returns the URL at which the provider asks the user for access. `verifier` is the PKCE code verifier. */
  readonly authorizationUrl: (request: { provider: string; state: string; verifier: string }) => Promise<string>;
  /**
   * Exchanges the code of a callback for tokens. `query` is the query string of the callback.
   * @throws Refusal unauthorized, forbidden if the provider or its user has refused, bad_gateway, unavailable
   */
  readonly exchange: (callback: { provider: string; query: string; state: string; verifier: string }) => Promise<IssuedTokens>;
  /** Renews tokens, or returns the error of the provider. @throws Refusal bad_gateway, unavailable */
  readonly refresh: (provider: string, refresh_token: Secret) => Promise<IssuedTokens | TokenError>;
  /**
   * Revokes tokens at the provider, including those that were issued for the refresh token.
   * @throws Refusal bad_gateway, unavailable
   */
  readonly revoke: (provider: string, tokens: Pick<IssuedTokens, 'access_token' | 'refresh_token'>) => Promise<Revocation>;
};
