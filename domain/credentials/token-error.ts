import { Refusal } from '../refusal.ts';
import { clientVariables } from './oauth-provider.ts';

/**
 * The error codes with which a token endpoint says that the refresh token of an account is not valid any more, so that a
 * person must connect the account again. All other errors are about the client of this installation or about the moment.
 */
const ACCOUNT_ERRORS: ReadonlySet<string> = new Set([
  // RFC 6749, 5.2
  'invalid_grant',
  // OpenID Connect Core, 3.1.2.6; Microsoft also answers refreshes with these codes.
  'interaction_required',
  'login_required',
  'consent_required',
  // GitHub: "Troubleshooting OAuth app access token request errors"
  'bad_refresh_token',
  // Slack: errors of oauth.v2.access
  'invalid_refresh_token',
  'token_revoked',
  'account_inactive',
]);

export const isAboutAccount = (error: string): boolean => ACCOUNT_ERRORS.has(error);

/** The error codes that only the operator of this installation can mend, by correcting its client at the provider. */
const CLIENT_ERRORS: ReadonlySet<string> = new Set([
  // RFC 6749, 5.2
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  // GitHub
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
  'application_suspended',
  // Slack
  'bad_client_secret',
  'invalid_client_id',
]);

export const isAboutClient = (error: string): boolean => CLIENT_ERRORS.has(error);

export type TokenError = { readonly status: number; readonly error: string };

/**
 * Returns the refusal that names the error and, if it is about the client, what the operator can do. Providers may send
 * any text instead of a code; such a text is not shown.
 */
export const refusalOfTokenError = (provider: string, { status, error }: TokenError): Refusal => {
  const answer = `The provider answered ${status} ${/^[\w.-]{1,64}$/.test(error) ? error : 'an unknown error'}`;
  const advice = `the operator must check ${clientVariables(provider).join(' and ')}`;
  return new Refusal('bad_gateway', isAboutClient(error) ? `${answer} to the client of this installation: ${advice}` : answer);
};
