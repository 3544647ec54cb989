import { join } from 'node:path';
import type { Config } from '../config.ts';
import { readJson, readText } from '../durable-files.ts';
import { LogError } from '../eventstore/event-log.ts';
import { isUnavailable } from '../postgres/pool.ts';

/** Where the services of a platform are; NATS too, where it is known. */
export type Attached = {
  readonly eventstoreUrl: string;
  readonly databaseUrl: string;
  readonly natsUrl?: string;
  readonly natsAccountSeed?: string;
};

type State = { readonly ports?: { readonly store?: number; readonly nats?: number } };

const natsIn = ({ annalsData }: Config, port: number | undefined): Pick<Attached, 'natsUrl' | 'natsAccountSeed'> => {
  const seeds = readJson<{ account: string }>(join(annalsData, 'nats/keys.json'));
  return port && seeds ? { natsUrl: `nats://127.0.0.1:${port}`, natsAccountSeed: seeds.account } : {};
};

/**
 * The services that the configuration names, or else the embedded ones of its data directory. @throws Error of one line where there are none
 */
export const locateServices = (config: Config): Attached => {
  const { eventstoreUrl, databaseUrl, natsUrl, natsAccountSeed, annalsData } = config;
  const secret = readText(join(annalsData, 'store/secret'));
  const ports = readJson<State>(join(annalsData, 'state.json'))?.ports;
  const embedded =
    secret && ports?.store ? `esdb://127.0.0.1:${ports.store}?tls=false&connectionName=${encodeURIComponent(secret)}` : undefined;
  const store = eventstoreUrl ?? embedded;
  const database = databaseUrl ?? readText(join(annalsData, 'postgres/url'));
  if (!store || !database) throw new Error(`there is no platform in ${annalsData}: start one, or set EVENTSTORE_URL and DATABASE_URL`);
  const nats = natsUrl ? { natsUrl, ...(natsAccountSeed && { natsAccountSeed }) } : natsIn(config, ports?.nats);
  return { eventstoreUrl: store, databaseUrl: database, ...nats };
};

/** What a driver says of a service that it cannot reach, without the driver's own words around it. */
export const reasonOf = (error: unknown): string => {
  const [line = ''] = String((error as Error).message).split('\n', 1);
  return /connect E[A-Z]+ [^\s]*[^\s.]/.exec(line)?.[0] ?? line;
};

const isAway = (error: unknown): boolean => isUnavailable(error) || (error instanceof LogError && error.kind === 'unavailable');

/** Does what needs a platform that runs. @throws Error of one line that says so where it does not */
export const withRunningPlatform = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    if (!isAway(error)) throw error;
    throw new Error(`the platform does not answer (${reasonOf(error)}): start it; annals doctor says what is wrong`);
  });
