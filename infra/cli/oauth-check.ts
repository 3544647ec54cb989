import pino from 'pino';
import { clientVariables, OAUTH_PROVIDERS, type OAuthProvider } from '../../domain/credentials/oauth-provider.ts';
import { Refusal } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import type { Config } from '../config.ts';
import { createGuardedClient } from '../egress/guarded-client.ts';
import { fail, none, ok, type Result, warn } from '../health/finding.ts';
import { createOAuthClients } from '../oauth/oauth-clients.ts';

type OAuthConfig = Pick<Config, 'oauth' | 'publicUrl' | 'egressAllow'>;
type Clients = ReturnType<typeof createOAuthClients>;

/** A refresh token that no provider has issued. */
const UNKNOWN_TOKEN = 'annals-doctor';

/**
 * Matches the error codes of providers that do not know the client, or that have another secret for it. The codes are
 * those of RFC 6749, of GitHub and of Slack.
 */
const WRONG_CLIENT = /^(?:invalid_client|unauthorized_client|incorrect_client_credentials|invalid_client_id|bad_client_secret)/;

/** The problem of one provider; null if it accepts the client. */
type Problem = { readonly message: string; readonly advice: string } | null;

const adviceOf = (provider: string): string => `correct ${clientVariables(provider).join(' and ')}`;

/**
 * Tests an OAuth client by sending an invalid refresh token to the provider: a provider that knows the client refuses
 * the token, and one that does not refuses the client. Returns null in the first case, and otherwise the problem.
 */
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

/**
 * Checks whether each provider accepts the OAuth client of this installation, with one request to each. If `providers`
 * is absent, all known providers are checked.
 */
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
