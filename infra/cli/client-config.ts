import { resolve } from 'node:path';
import { z } from 'zod';
import { clientVariables, type Environment, parseVariables, setVariables } from '../environment.ts';

/** What the commands need that use a platform over the network. They ignore the variables of the platform. */
export type ClientConfig = { readonly annalsUrl: string; readonly annalsKey: string; readonly annalsData: string };

/**
 * Reads the variables of a client. `annalsKey` is an empty text if it is not set and need not be.
 * @throws Error with a one-line message that names the malformed or missing variable
 */
export const loadClientConfig = (env: Environment, needsKey: boolean): ClientConfig => {
  const set = setVariables(env, (name) => Object.hasOwn(clientVariables, name));
  const { ANNALS_URL, ANNALS_KEY = '', ANNALS_DATA } = parseVariables(z.object(clientVariables), set);
  if (!ANNALS_URL) throw new Error('ANNALS_URL must be set for this command');
  if (!ANNALS_KEY && needsKey) throw new Error('ANNALS_KEY must be set for this command');
  return { annalsUrl: ANNALS_URL.replace(/\/+$/, ''), annalsKey: ANNALS_KEY, annalsData: resolve(ANNALS_DATA) };
};
