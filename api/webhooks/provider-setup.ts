import { findDefinition } from '../../domain/webhooks/provider.ts';

/** Returns the name of a provider as people know it. */
export const providerLabel = (provider: string): string => findDefinition(provider)?.label ?? provider;

/** Returns the steps that connect a provider with the URL of an integration; none if there is no such provider. */
export const setupOf = (provider: string): readonly string[] => findDefinition(provider)?.setup ?? [];

/**
 * Whether the platform can sign a test delivery. It cannot if the secret is the public key of the sender, because then
 * only the sender can sign.
 */
export const canSendSample = ({
  provider,
  options,
}: {
  readonly provider: string;
  readonly options: { readonly algorithm?: string | undefined };
}): boolean => findDefinition(provider)?.secret?.form !== 'public_key' && options.algorithm !== 'ed25519';
