import { Refusal } from '../refusal.ts';
import { clientVariables } from './oauth-provider.ts';

/**
 * Errors which mean that the refresh token is not valid any more: a person must connect the account again. All other errors are about the
 * client of this installation, or temporary.
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

/** Errors for which the operator must correct the client of this installation at the provider. */
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

/** Says what the operator can do if the error is about the client. Never shows a text that is not a known code: providers may send any. */
export const refusalOfTokenError = (provider: string, { status, error }: TokenError): Refusal => {
  const answer = `The provider answered ${status} ${/^[\w.-]{1,64}$/.test(error) ? error : 'an unknown error'}`;
  const advice = `the operator must check ${clientVariables(provider).join(' and ')}`;
  return new Refusal('bad_gateway', isAboutClient(error) ? `${answer} to the client of this installation: ${advice}` : answer);
};
