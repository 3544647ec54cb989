import { join } from 'node:path';
import { natsProcess } from '../nats/embedded-nats.ts';
import { postgres } from '../postgres/embedded-postgres.ts';
import { storeProcess } from '../supervision/child-processes.ts';
import type { ManagedProcess } from '../supervision/managed-process.ts';
import { freePort, isPortFree } from '../supervision/ports.ts';
import type { Supervised } from '../supervision/supervisor.ts';

/** The ports of the embedded services. A service with a configured URL is not embedded and has no port here. */
export type ServicePorts = Partial<Record<'store' | 'postgres' | 'nats', number>>;

/** The environment variables with the URLs of the services. Their values contain secrets. */
export type ServiceUrls = {
  readonly EVENTSTORE_URL: string;
  readonly DATABASE_URL: string;
  readonly NATS_URL: string;
  readonly NATS_ACCOUNT_SEED?: string;
  readonly NATS_RUNNER_ACCOUNT_SEED?: string;
};

export type ServiceConfig = {
  readonly annalsData: string;
  readonly eventstoreUrl?: string | undefined;
  readonly databaseUrl?: string | undefined;
  readonly natsUrl?: string | undefined;
  readonly natsAccountSeed?: string | undefined;
  readonly natsRunnerAccountSeed?: string | undefined;
};

type Started<P> = { readonly spec: P; readonly ready: Promise<void> };

export type EmbeddedServices = {
  readonly urls: ServiceUrls;
  readonly ports: ServicePorts;
  /** Resolves when every embedded service is up. */
  readonly ready: Promise<unknown>;
};

/**
 * Returns the port that a service used at the last start. If another program uses that port now, or there was no start,
 * returns a free port.
 */
const portFor = async (last: number | undefined): Promise<number> => (last !== undefined && (await isPortFree(last)) ? last : freePort());

export type StartServicesOptions = {
  readonly config: ServiceConfig;
  /** The ports that the services used at the last start. */
  readonly lastPorts: ServicePorts;
  readonly run: (spec: ManagedProcess) => Promise<Supervised>;
  readonly report: (line: string) => void;
  /** Called with a promise for each service that is being started, so that `close` can wait for it. */
  readonly onStarting: (starting: Promise<unknown>) => void;
};

/**
 * Starts each service that has no configured URL. Resolves when the URLs of all services are known, which may be before
 * the services are up. So processes that use the services can start at the same time.
 */
export const startEmbeddedServices = async ({
  config,
  lastPorts,
  run,
  onStarting,
  report,
}: StartServicesOptions): Promise<EmbeddedServices> => {
  const ports: ServicePorts = {};

  const startOne = async <P extends ManagedProcess>(
    name: keyof ServicePorts,
    specOf: (dir: string, port: number) => P | Promise<P>,
  ): Promise<Started<P>> => {
    const port = await portFor(lastPorts[name]);
    ports[name] = port;
    const spec = await specOf(join(config.annalsData, name), port);
    return { spec, ready: (await run(spec)).ready };
  };
  const start = <P extends ManagedProcess>(
    name: keyof ServicePorts,
    url: string | undefined,
    specOf: (dir: string, port: number) => P | Promise<P>,
  ): Promise<Started<P>> | undefined => {
    if (url) return undefined;
    const starting = startOne(name, specOf);
    onStarting(starting);
    return starting;
  };

  const services = await Promise.all([
    start('store', config.eventstoreUrl, (dir, port) => storeProcess({ dir, port })),
    start('postgres', config.databaseUrl, (dir, port) => postgres({ dir, port })),
    start('nats', config.natsUrl, (dir, port) => natsProcess({ dir, port, report })),
  ]);
  const [store, database, broker] = services;
  if (store && !store.spec.isUrlKnown()) await store.ready;
  const accountSeed = broker?.spec.accountSeed ?? config.natsAccountSeed;
  const runnerAccountSeed = broker?.spec.runnerAccountSeed ?? config.natsRunnerAccountSeed;
  return {
    urls: {
      EVENTSTORE_URL: config.eventstoreUrl ?? store!.spec.url(),
      DATABASE_URL: config.databaseUrl ?? database!.spec.url,
      NATS_URL: config.natsUrl ?? broker!.spec.url,
      ...(accountSeed && { NATS_ACCOUNT_SEED: accountSeed }),
      ...(runnerAccountSeed && { NATS_RUNNER_ACCOUNT_SEED: runnerAccountSeed }),
    },
    ports,
    ready: Promise.all(services.map((service) => service?.ready)),
  };
};
