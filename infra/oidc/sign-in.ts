import type { Logger } from 'pino';
import type { CodeFlow } from '../../api/identity/sign-in.ts';
import type { Claims } from '../../commands/identity/sign-in.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Vault } from '../vault/vault.ts';
import type { IssuerConfig } from './issuer.ts';

/**
 * The ways in which people sign in. `verify` checks a token of the issuer; null if no issuer is configured. `flow`
 * signs in people who use a browser. If no client id is configured, `isForBrowsers` is false, and every sign-in by
 * `flow` is refused.
 */
export type SignInMethods = {
  readonly verify: ((token: string) => Promise<Claims>) | null;
  readonly flow: CodeFlow;
  readonly isForBrowsers: boolean;
};

type Options = { readonly publicUrl: string; readonly vault: Vault; readonly logger: Logger; readonly now?: () => number };

/** Refuses every sign-in, because `variable` is not set, and names it. */
const unconfiguredFlow = (variable: string): CodeFlow => {
  const refuse = async () => {
    throw new Refusal('not_configured', `${variable} is not set: browsers cannot sign in`);
  };
  return { begin: refuse, finish: refuse };
};

/** The sign-in methods if no issuer is configured: callers authenticate by API key only. */
export const API_KEYS_ONLY: SignInMethods = { verify: null, flow: unconfiguredFlow('OIDC_ISSUER'), isForBrowsers: false };

/** Loads the OIDC libraries only if an issuer is configured, and contacts it at the first sign-in. */
export const openSignInMethods = async (
  config: IssuerConfig,
  { publicUrl, vault, logger, now = Date.now }: Options,
): Promise<SignInMethods> => {
  if (config.oidcIssuer === undefined) return API_KEYS_ONLY;
  const [{ createIssuer: issuerOf }, { createTokenVerifier: tokenVerifier }, { createCodeFlow: codeFlow }] = await Promise.all([
    import('./issuer.ts'),
    import('./tokens.ts'),
    import('./code-flow.ts'),
  ]);
  const issuer = issuerOf(config, logger);
  // The key is derived from this text. A change of the text would make the sign-ins that are in progress fail.
  const key = Buffer.from(vault.digest('the key of what a browser keeps while it signs in'), 'hex');
  return {
    verify: tokenVerifier(issuer, config, logger),
    flow:
      config.oidcClientId === undefined
        ? unconfiguredFlow('OIDC_CLIENT_ID')
        : codeFlow({ issuer, publicUrl, key, now, logger, trustsEmail: config.oidcTrustEmail ?? false }),
    isForBrowsers: config.oidcClientId !== undefined,
  };
};
