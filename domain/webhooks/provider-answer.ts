import type { ProviderAnswer, RecordedBody } from './conventions/provider-definition.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';

/** Returns what the provider gets for a recorded delivery; null for the usual answer. */
export const providerAnswer = (provider: Provider, recorded: RecordedBody): ProviderAnswer | null =>
  PROVIDER_DEFINITIONS[provider].answer?.(recorded) ?? null;
