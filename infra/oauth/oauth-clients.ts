import type * as oauth from 'openid-client';
import type { Logger } from 'pino';
import type { IssuedTokens, OAuthClients } from '../../commands/credentials/oauth-clients.ts';
import { clientVariables, OAUTH_PROVIDERS, type OAuthProvider } from '../../domain/credentials/oauth-provider.ts';
import { isAboutClient, refusalOfTokenError } from '../../domain/credentials/token-error.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import type { OAuthClient } from '../config.ts';
import { EgressError } from '../egress/egress-error.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';
import { statusOfResponse } from '../http/foreign-response.ts';
import { fetchTokens } from './fetch-tokens.ts';
import { revokeTokens } from './revoke-tokens.ts';

export type OAuthOptions = {
  /** Maps the names of providers to the clients of this installation. */
  readonly clients: Readonly<Record<string, OAuthClient>>;
  readonly client: GuardedClient;
  readonly publicUrl: string;
  readonly logger: Logger;
  readonly now?: () => number;
  /** Maps names to providers. By default, the known providers. */
  readonly providers?: Readonly<Record<string, OAuthProvider>>;
};

type Library = typeof oauth;
const RETRY_AFTER_SECONDS = 10;

const causesOf = (error: unknown): unknown[] => {
  const causes: unknown[] = [];
  for (let cause = error; cause !== undefined && causes.length < 5; cause = (cause as Error)?.cause) causes.push(cause);
  return causes;
};

/** Returns the status of a response, or of the error that the library makes of one; undefined for anything else. */
const statusOf = (cause: unknown): number | undefined => {
  const { status } = Object(cause) as { status?: unknown };
  return statusOfResponse(cause) ?? (typeof status === 'number' ? status : undefined);
};

const isDown = (causes: readonly unknown[]): boolean => causes.map(statusOf).some((status = 0) => status >= 500 || status === 429);

/** Contains at most the provider's status and error code, or the message of an EgressError. Does not log the error. */
const refusalOf = (library: Library, name: string, error: unknown): Refusal => {
  const causes = causesOf(error);
  if (error instanceof library.ResponseBodyError && isAboutClient(error.error)) return refusalOfTokenError(name, error);
  const egress = causes.find((cause): cause is EgressError => cause instanceof EgressError);
  if (error instanceof library.AuthorizationResponseError)
    return new Refusal('forbidden', `The provider answered ${error.error}: the account is not connected`);
  if (egress?.failure === 'bad_response') return new Refusal('bad_gateway', egress.message);
  if (egress || isDown(causes)) return new Refusal('unavailable', 'The provider does not answer', { retryAfter: RETRY_AFTER_SECONDS });
  return new Refusal('unauthorized', 'The provider did not confirm this account: start again');
};

const serverOf = ({ issuer, authorizationUrl, tokenUrl, revocation, sendsIssuer = false }: OAuthProvider): oauth.ServerMetadata => ({
  issuer,
  authorization_endpoint: authorizationUrl,
  token_endpoint: tokenUrl,
  ...(revocation && { revocation_endpoint: revocation.url }),
  authorization_response_iss_parameter_supported: sendsIssuer,
});

/** Loads the OAuth library when the first account is connected: most processes do not need it. */
export const createOAuthClients = (options: OAuthOptions): OAuthClients => {
  const { clients, client, publicUrl, logger, now = Date.now, providers = OAUTH_PROVIDERS } = options;
  const callback = `${publicUrl}/integrations/callback`;
  const configured = Object.keys(providers).filter((provider) => provider in clients);

  const open = async (name: string) => {
    const library = await import('openid-client');
    const provider = providers[name]!;
    const { clientId, clientSecret } = clients[name]!;
    const authentication = provider.usesBasic ? library.ClientSecretBasic(clientSecret) : library.ClientSecretPost(clientSecret);
    const configuration = new library.Configuration(serverOf(provider), clientId, clientSecret, authentication);
    configuration[library.customFetch] = fetchTokens(client);
    if (provider.tokenUrl.startsWith('http:')) library.allowInsecureRequests(configuration);
    return { library, provider, configuration };
  };

  const tokensOf = (provider: OAuthProvider, answer: oauth.TokenEndpointResponse, old: string | null): IssuedTokens => {
    const { access_token, refresh_token = old, scope, expires_in } = answer;
    return {
      access_token: secret(access_token),
      refresh_token: refresh_token ? secret(refresh_token) : null,
      scopes: scope === undefined ? provider.scopes : scope.split(/[\s,]+/).filter((one) => one !== ''),
      expires_at: expires_in === undefined ? null : new Date(now() + expires_in * 1_000).toISOString(),
    };
  };

  return {
    configured,
    assertConfigured: (provider) => {
      if (!Object.hasOwn(providers, provider)) throw notFound();
      if (!configured.includes(provider)) {
        const [id, clientSecret] = clientVariables(provider);
        throw new Refusal('not_configured', `${id} and ${clientSecret} are not set: accounts of ${provider} cannot be connected`);
      }
    },
    labelOf: (provider) => providers[provider]!.label,
    webhooksOf: (provider) => providers[provider]!.webhooks,
    authorizationUrl: async ({ provider: name, state, verifier }) => {
      const { library, provider, configuration } = await open(name);
      const { scopes, scopeSeparator = ' ', parameters = {} } = provider;
      return library.buildAuthorizationUrl(configuration, {
        ...parameters,
        redirect_uri: callback,
        ...(scopes.length > 0 && { scope: scopes.join(scopeSeparator) }),
        state,
        code_challenge: await library.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).href;
    },
    exchange: async ({ provider: name, query, state, verifier }) => {
      const { library, provider, configuration } = await open(name);
      try {
        const checks = { expectedState: state, pkceCodeVerifier: verifier };
        return tokensOf(provider, await library.authorizationCodeGrant(configuration, new URL(callback + query), checks), null);
      } catch (error) {
        logger.warn({ provider: name, reason: (error as Error).message }, 'an account could not be connected');
        throw refusalOf(library, name, error);
      }
    },
    refresh: async (name, refresh_token) => {
      const { library, provider, configuration } = await open(name);
      try {
        return tokensOf(provider, await library.refreshTokenGrant(configuration, refresh_token.reveal()), refresh_token.reveal());
      } catch (error) {
        if (error instanceof library.ResponseBodyError && error.status < 500 && error.status !== 429)
          return { error: error.error, status: error.status };
        const refusal = refusalOf(library, name, error);
        if (refusal.code !== 'unauthorized') throw refusal;
        const status = causesOf(error)
          .map(statusOf)
          .find((one) => one !== undefined);
        throw new Refusal('bad_gateway', status ? `The provider answered ${status}` : 'The answer of the provider cannot be used');
      }
    },
    revoke: async (name, tokens) => {
      const { library, provider, configuration } = await open(name);
      try {
        return await revokeTokens({ library, provider, configuration, client, oauthClient: clients[name]! }, tokens);
      } catch (error) {
        throw refusalOf(library, name, error);
      }
    },
  };
};
