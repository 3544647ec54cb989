import type { ClientConfig } from './client-config.ts';

/** Loads `loadClientConfig` only now, so that commands with wrong arguments end fast. */
export const readClientConfig = async ({ needsKey = true } = {}): Promise<ClientConfig> => {
  const { loadClientConfig } = await import('./client-config.ts');
  return loadClientConfig(process.env, needsKey);
};
