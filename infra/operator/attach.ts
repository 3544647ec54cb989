import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';

/** Where the services of a platform are. */
export type Attached = { readonly eventstoreUrl: string; readonly databaseUrl: string };

type State = { readonly ports?: { readonly store?: number } };

const textIn = (file: string): string | undefined => (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined);

/**
 * The services that the configuration names, or else the embedded ones of its data directory. @throws Error of one line where there are none
 */
export const attach = ({ eventstoreUrl, databaseUrl, annalsData }: Config): Attached => {
  const secret = textIn(join(annalsData, 'store/secret'));
  const { ports } = JSON.parse(textIn(join(annalsData, 'state.json')) ?? '{}') as State;
  const embedded =
    secret && ports?.store ? `esdb://127.0.0.1:${ports.store}?tls=false&connectionName=${encodeURIComponent(secret)}` : undefined;
  const store = eventstoreUrl ?? embedded;
  const database = databaseUrl ?? textIn(join(annalsData, 'postgres/url'));
  if (!store || !database) throw new Error(`there is no platform in ${annalsData}: start one, or set EVENTSTORE_URL and DATABASE_URL`);
  return { eventstoreUrl: store, databaseUrl: database };
};
