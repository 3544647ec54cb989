import type { ProviderAnswer, RecordedBody } from './conventions/provider-definition.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';

/** Null: the usual answer. */
export const providerAnswer = (provider: Provider, recorded: RecordedBody): ProviderAnswer | null =>
  PROVIDER_DEFINITIONS[provider].answer?.(recorded) ?? null;
