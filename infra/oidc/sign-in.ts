import type { Logger } from 'pino';
import type { CodeFlow } from '../../api/identity/sign-in.ts';
import type { Claims } from '../../commands/identity/sign-in.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Vault } from '../vault/vault.ts';
import type { IssuerConfig } from './issuer.ts';

/** How people come in: by the issuer's tokens, null where there is no issuer, and by browser. */
export type SignInMethods = { readonly verify: ((token: string) => Promise<Claims>) | null; readonly flow: CodeFlow };

type Options = { readonly publicUrl: string; readonly vault: Vault; readonly logger: Logger; readonly now?: () => number };

/** Where no client is configured: the detail says which variable is missing. */
const without = (variable: string): CodeFlow => {
  const missing = async () => {
    throw new Refusal('not_configured', `${variable} is not set: browsers can not sign in`);
  };
  return { begin: missing, finish: missing };
};

/** API keys and nothing else. */
export const API_KEYS_ONLY: SignInMethods = { verify: null, flow: without('OIDC_ISSUER') };

/** What the configuration lets people sign in by. The libraries are loaded where there is an issuer; it is asked once somebody comes. */
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
  const key = Buffer.from(vault.digest('the key of what a browser keeps while it signs in'), 'hex');
  return {
    verify: tokenVerifier(issuer, config, logger),
    flow: config.oidcClientId === undefined ? without('OIDC_CLIENT_ID') : codeFlow({ issuer, publicUrl, key, now, logger }),
  };
};
