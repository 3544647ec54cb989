import pino from 'pino';
import { clientVariables, OAUTH_PROVIDERS, type OAuthProvider } from '../../../domain/credentials/oauth-provider.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { secret } from '../../../domain/secret.ts';
import type { Config } from '../../config.ts';
import { createGuardedClient } from '../../egress/guarded-client.ts';
import { fail, none, ok, type Result, warn } from '../../health/finding.ts';
import { createOAuthClients } from '../../oauth/oauth-clients.ts';

type OAuthConfig = Pick<Config, 'oauth' | 'publicUrl' | 'egressAllow'>;
type Clients = ReturnType<typeof createOAuthClients>;

const UNKNOWN_TOKEN = 'annals-doctor';

/** The provider does not know the client, or has another secret for it: codes of RFC 6749, GitHub and Slack. */
const WRONG_CLIENT = /^(?:invalid_client|unauthorized_client|incorrect_client_credentials|invalid_client_id|bad_client_secret)/;

/** Null if the provider accepts the client. */
type Problem = { readonly message: string; readonly advice: string } | null;

const adviceOf = (provider: string): string => `correct ${clientVariables(provider).join(' and ')}`;

/** Sends an invalid refresh token: a provider that knows the client refuses the token (null), one that does not refuses the client. */
const problemOf = async (clients: Clients, provider: string, { label, tokenUrl }: OAuthProvider): Promise<Problem> => {
  try {
    const answer = await clients.refresh(provider, secret(UNKNOWN_TOKEN));
    if (!('error' in answer) || !WRONG_CLIENT.test(String(answer.error))) return null;
    return { message: `${label} refuses the client: ${answer.error}`, advice: adviceOf(provider) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === 'unavailable')
      return { message: `${label} does not answer`, advice: `allow connections to ${new URL(tokenUrl).host}` };
    return { message: `${label} refuses the request of the client`, advice: adviceOf(provider) };
  }
};

/** Sends one request to each provider; to all known ones if `providers` is absent. */
export const checkOAuth = async (
  { oauth, publicUrl, egressAllow }: OAuthConfig,
  providers: Readonly<Record<string, OAuthProvider>> = OAUTH_PROVIDERS,
): Promise<Result> => {
  const names = Object.keys(oauth);
  if (names.length === 0) return none('no OAUTH_<PROVIDER>_CLIENT_ID is set: no accounts can be connected');
  const client = createGuardedClient({ allow: egressAllow });
  const clients = createOAuthClients({ clients: oauth, client, publicUrl, logger: pino({ level: 'silent' }), providers });
  try {
    const known = names.filter((name) => Object.hasOwn(providers, name));
    const found = await Promise.all(known.map((name) => problemOf(clients, name, providers[name]!)));
    const problems = found.filter((problem) => problem !== null);
    if (problems.length > 0)
      return fail(problems.map(({ message }) => message).join('; '), problems.map(({ advice }) => advice).join('; '));
    const unknown = names.filter((name) => !Object.hasOwn(providers, name));
    if (unknown.length > 0)
      return warn(
        `${unknown.join(', ')}: no provider has this name`,
        `remove these variables, or use ${Object.keys(providers).join(', ')}`,
      );
    return ok(`${known.map((name) => providers[name]!.label).join(', ')}: the client is accepted`);
  } finally {
    await client.close();
  }
};
