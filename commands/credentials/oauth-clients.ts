import type { Revocation } from '../../domain/credentials/linked-identity.ts';
import type { TokenError } from '../../domain/credentials/token-error.ts';
import type { Secret } from '../../domain/secret.ts';

/** `expires_at`: of the access token; null if it does not expire. */
export type IssuedTokens = {
  readonly access_token: Secret;
  readonly refresh_token: Secret | null;
  readonly scopes: readonly string[];
  readonly expires_at: string | null;
};

/** The clients of this installation at providers. */
export type OAuthClients = {
  /** Providers with a client. */
  readonly configured: readonly string[];
  /** @throws Refusal not_found if the provider is unknown, not_configured if there is no client */
  readonly assertConfigured: (provider: string) => void;
  readonly labelOf: (provider: string) => string;
  /** Null if the service sends no webhooks. */
  readonly webhooksOf: (provider: string) => string | null;
  /** The provider's page that asks the user for access. `verifier`: PKCE. */
  readonly authorizationUrl: (request: { provider: string; state: string; verifier: string }) => Promise<string>;
  /** `query`: of the callback. @throws Refusal unauthorized, forbidden if the provider or its user has refused, bad_gateway, unavailable */
  readonly exchange: (callback: { provider: string; query: string; state: string; verifier: string }) => Promise<IssuedTokens>;
  /** @throws Refusal bad_gateway, unavailable */
  readonly refresh: (provider: string, refresh_token: Secret) => Promise<IssuedTokens | TokenError>;
  /** Revokes tokens that were issued for the refresh token, too. @throws Refusal bad_gateway, unavailable */
  readonly revoke: (provider: string, tokens: Pick<IssuedTokens, 'access_token' | 'refresh_token'>) => Promise<Revocation>;
};
