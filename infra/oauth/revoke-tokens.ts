import type * as oauth from 'openid-client';
import type { IssuedTokens } from '../../commands/credentials/oauth-clients.ts';
import type { Revocation } from '../../domain/credentials/linked-identity.ts';
import type { OAuthProvider, RevocationMethod } from '../../domain/credentials/oauth-provider.ts';
import type { OAuthClient } from '../config.ts';
import { EgressError } from '../egress/egress-error.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';
import type { EgressRequest } from '../egress/redirect.ts';

type Parts = {
  readonly library: typeof oauth;
  readonly provider: OAuthProvider;
  readonly configuration: oauth.Configuration;
  readonly client: GuardedClient;
  readonly oauthClient: OAuthClient;
};
type Tokens = Pick<IssuedTokens, 'access_token' | 'refresh_token'>;

const LIMITS = { totalMs: 10_000, maxBytes: 64 * 1024, maxRedirects: 0 };

const basic = ({ clientId, clientSecret }: OAuthClient): string => `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;

/** Revokes all tokens that the client has for this user. */
const githubRequest = (url: string, { oauthClient }: Parts, { access_token }: Tokens): EgressRequest => ({
  url: `${url}/${encodeURIComponent(oauthClient.clientId)}/grant`,
  method: 'DELETE',
  headers: { authorization: basic(oauthClient), accept: 'application/vnd.github+json', 'user-agent': 'annals' },
  body: JSON.stringify({ access_token: access_token.reveal() }),
});

const slackRequest = (url: string, { access_token }: Tokens): EgressRequest => ({
  url,
  method: 'POST',
  headers: { authorization: `Bearer ${access_token.reveal()}` },
});

const send = async (client: GuardedClient, request: EgressRequest): Promise<Revocation> => {
  const { status } = await client.read({ ...request, ...LIMITS });
  if (status >= 500 || status === 429) throw new EgressError('unreachable', 'The provider cannot revoke tokens now');
  return status < 300 ? 'revoked' : 'refused';
};

/** Revokes the refresh token or else the access token (RFC 7009). All others are derived from it. */
const sendStandard = async ({ library, configuration }: Parts, { refresh_token, access_token }: Tokens): Promise<Revocation> => {
  try {
    await library.tokenRevocation(configuration, (refresh_token ?? access_token).reveal());
    return 'revoked';
  } catch (error) {
    if (error instanceof library.ResponseBodyError && error.status < 500 && error.status !== 429) return 'refused';
    throw error;
  }
};

/** Asks a provider to revoke tokens, by the method that it supports. @throws the error of the library, EgressError */
export const revokeTokens = (parts: Parts, tokens: Tokens): Promise<Revocation> => {
  const { revocation } = parts.provider;
  if (!revocation) return Promise.resolve('unsupported');
  const { url } = revocation;
  const methods: Record<RevocationMethod, () => Promise<Revocation>> = {
    rfc7009: () => sendStandard(parts, tokens),
    github: () => send(parts.client, githubRequest(url, parts, tokens)),
    slack: () => send(parts.client, slackRequest(url, tokens)),
  };
  return methods[revocation.method]();
};
