import { invalid } from '../refusal.ts';
import type { IntegrationOptions } from './conventions/integration-options.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';

/** @throws Refusal invalid if the provider lacks an option, or if they cannot be combined */
export const checkOptions = (provider: Provider, options: IntegrationOptions): void => {
  const { options: allowed = [], checkOptions: check } = PROVIDER_DEFINITIONS[provider];
  const known: readonly string[] = allowed;
  for (const name of Object.keys(options))
    if (!known.includes(name)) throw invalid(`/options/${name}`, `is not an option of ${provider}`, 'unrecognized_keys');
  check?.(options);
};
