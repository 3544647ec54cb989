import { findDefinition, type Provider } from '../../domain/integrations/provider.ts';
import { usesPublicKey } from '../../domain/integrations/provider-secret.ts';

/** Returns the name of a provider as people know it. */
export const providerLabel = (provider: string): string => findDefinition(provider)?.label ?? provider;

/** Returns the steps that connect a provider with the URL of an integration; none if there is no such provider. */
export const setupOf = (provider: string): readonly string[] => findDefinition(provider)?.setup ?? [];

/** Whether the platform can sign a test delivery. If the secret is a public key, only the sender can sign. */
export const canSendSample = ({
  provider,
  options,
}: {
  readonly provider: string;
  readonly options: Parameters<typeof usesPublicKey>[1];
}): boolean => findDefinition(provider) !== undefined && !usesPublicKey(provider as Provider, options);
