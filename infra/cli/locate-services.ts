import { join } from 'node:path';
import type { Config } from '../config.ts';
import { readJson, readText } from '../durable-files.ts';
import { LogError } from '../eventstore/event-log.ts';
import { reasonOf } from '../health/finding.ts';
import { listenUrl } from '../listen-url.ts';
import { isUnavailable } from '../postgres/pool.ts';

/** The URLs of a platform's services. The URL of NATS may be unknown. */
export type ServiceLocations = {
  readonly eventstoreUrl: string;
  readonly databaseUrl: string;
  readonly natsUrl?: string;
  readonly natsAccountSeed?: string;
  readonly natsRunnerAccountSeed?: string;
};

type State = { readonly ports?: { readonly store?: number; readonly nats?: number }; readonly url?: string };

type BrokerLocation = Pick<ServiceLocations, 'natsUrl' | 'natsAccountSeed' | 'natsRunnerAccountSeed'>;

const embeddedNats = ({ annalsData }: Config, port: number | undefined): BrokerLocation => {
  const seeds = readJson<{ account: string; runners?: string }>(join(annalsData, 'nats/keys.json'));
  if (!port || !seeds) return {};
  const { account, runners } = seeds;
  return { natsUrl: `nats://127.0.0.1:${port}`, natsAccountSeed: account, ...(runners && { natsRunnerAccountSeed: runners }) };
};

/** A URL that is not configured is read from the data directory. Null if the event store or the database is unknown. */
export const findServices = (config: Config): ServiceLocations | null => {
  const { eventstoreUrl, databaseUrl, natsUrl, natsAccountSeed, natsRunnerAccountSeed, annalsData } = config;
  const secret = readText(join(annalsData, 'store/secret'));
  const ports = readJson<State>(join(annalsData, 'state.json'))?.ports;
  const embedded =
    secret && ports?.store ? `esdb://127.0.0.1:${ports.store}?tls=false&connectionName=${encodeURIComponent(secret)}` : undefined;
  const store = eventstoreUrl ?? embedded;
  const database = databaseUrl ?? readText(join(annalsData, 'postgres/url'));
  if (!store || !database) return null;
  const configured = {
    ...(natsUrl && { natsUrl }),
    ...(natsAccountSeed && { natsAccountSeed }),
    ...(natsRunnerAccountSeed && { natsRunnerAccountSeed }),
  };
  const nats = natsUrl ? configured : embeddedNats(config, ports?.nats);
  return { eventstoreUrl: store, databaseUrl: database, ...nats };
};

/** Returns whether `annals start` has run in the data directory. */
export const isStartedHere = ({ annalsData }: Config): boolean => readJson<State>(join(annalsData, 'state.json')) !== undefined;

/** By default, the URL of the platform in the data directory, which may have been started with another PORT. */
export const publicUrlOf = (config: Config): string => {
  if (config.publicUrl !== listenUrl(config)) return config.publicUrl;
  return readJson<State>(join(config.annalsData, 'state.json'))?.url ?? config.publicUrl;
};

/** Does the same as `findServices`. @throws Error with a one-line message for the operator if the event store or the database is unknown */
export const locateServices = (config: Config): ServiceLocations => {
  const found = findServices(config);
  if (found) return found;
  const missing = config.eventstoreUrl ? 'DATABASE_URL' : config.databaseUrl ? 'EVENTSTORE_URL' : 'EVENTSTORE_URL and DATABASE_URL';
  throw new Error(`there is no platform in ${config.annalsData}: run annals start, or set ${missing}`);
};

const isUnreachable = (error: unknown): boolean => isUnavailable(error) || (error instanceof LogError && error.kind === 'unavailable');

/** @throws Error with a one-line message for the operator if the platform cannot be reached */
export const withRunningPlatform = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    if (!isUnreachable(error)) throw error;
    throw new Error(`the platform does not answer (${reasonOf(error)}): start it, or run annals doctor to find the cause`);
  });
