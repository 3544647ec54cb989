import type { Revocation } from '../../domain/credentials/linked-identity.ts';
import type { Secret } from '../../domain/secret.ts';

/** Tokens that a provider has issued. `expires_at` is when the access token expires; null if it does not. */
export type IssuedTokens = {
  readonly access_token: Secret;
  readonly refresh_token: Secret | null;
  readonly scopes: readonly string[];
  readonly expires_at: string | null;
};

/** A provider refuses to renew tokens. `error` is the code of the provider, such as invalid_grant. */
export type RefusedRefresh = { readonly error: string };

/** The OAuth clients of this installation at providers. */
export type OAuthClients = {
  /** The providers for which this installation has a client. */
  readonly configured: readonly string[];
  /** Checks that there is a client. @throws Refusal not_found for an unknown provider, not_configured */
  readonly assertConfigured: (provider: string) => void;
  readonly labelOf: (provider: string) => string;
  /** Whether the provider sends events to webhooks, and as which provider of integrations. */
  readonly webhooksOf: (provider: string) => string | null;
  /** Returns the URL at which a browser asks the provider for access. `verifier` is the PKCE code verifier. */
  readonly authorizationUrl: (request: { provider: string; state: string; verifier: string }) => Promise<string>;
  /**
   * Exchanges the code of a callback for tokens. `query` is the query string of the callback.
   * @throws Refusal unauthorized, forbidden if the provider or its user has refused, bad_gateway, unavailable
   */
  readonly exchange: (callback: { provider: string; query: string; state: string; verifier: string }) => Promise<IssuedTokens>;
  /** Gets new tokens. @throws Refusal bad_gateway, unavailable */
  readonly refresh: (provider: string, refresh_token: Secret) => Promise<IssuedTokens | RefusedRefresh>;
  /** Revokes tokens, also those derived from the refresh token. @throws Refusal bad_gateway, unavailable */
  readonly revoke: (provider: string, tokens: Pick<IssuedTokens, 'access_token' | 'refresh_token'>) => Promise<Revocation>;
};
