import pino from 'pino';
import { Refusal } from '../../domain/refusal.ts';
import type { Config } from '../config.ts';
import { fail, none, ok, type Result } from './finding.ts';

type SignInConfig = Pick<Config, 'oidcIssuer' | 'oidcAudience' | 'oidcClientId' | 'oidcClientSecret'>;

/** Asks a configured issuer for its discovery document. */
export const checkSignIn = async (config: SignInConfig): Promise<Result> => {
  if (!config.oidcIssuer) return none('OIDC_ISSUER is not set: users sign in with API keys only');
  const { createIssuer } = await import('../oidc/issuer.ts');
  try {
    const { issuer } = (await createIssuer(config, pino({ level: 'silent' }))()).serverMetadata();
    return ok(`${issuer} answers`);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_configured')
      return fail('OIDC_ISSUER is not the name of the issuer', error.message);
    return fail('OIDC_ISSUER does not answer with a valid discovery document', 'start the OpenID provider, or correct OIDC_ISSUER');
  }
};
