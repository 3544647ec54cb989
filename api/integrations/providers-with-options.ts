import { PROVIDER_DEFINITIONS, PROVIDERS } from '../../domain/integrations/provider.ts';

/** The providers whose integrations have settings of their own. */
export const PROVIDERS_WITH_OPTIONS = PROVIDERS.filter((provider) => (PROVIDER_DEFINITIONS[provider].options?.length ?? 0) > 0);
