import { lookup, Resolver } from 'node:dns/promises';
import type { LookupFunction, Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { EgressError } from './egress-error.ts';
import type { Destination, EgressRules } from './egress-rules.ts';
import { ipAddressOf } from './ip-address.ts';

const DNS_TIMEOUT = { timeout: 2_000, tries: 2 };

/** Returns the addresses of a host name. @throws Error if the name has none, or DNS does not answer */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

type Connector = buildConnector.connector;

const resolver = new Resolver(DNS_TIMEOUT);

/**
 * Resolves a host name with the DNS servers. `lookup` of node:dns is not used, because it occupies one of the few
 * threads that Node also needs for files: a few host names with slow DNS servers could stop the whole process.
 */
export const resolveByDns: ResolveHost = async (hostname) => {
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason;
  return addresses;
};

/**
 * Resolves a name as the operating system does, which includes its hosts file. It is used for hosts that the operator
 * has listed in EGRESS_ALLOW.
 */
export const resolveBySystem: ResolveHost = async (hostname) =>
  (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);

/**
 * Returns a `lookup` function for sockets that returns addresses which were already checked, so that the name is not
 * resolved again.
 */
const checkedLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_hostname, options, callback) => {
    const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    if (options.all) return callback(null, all);
    callback(null, all[0]!.address, all[0]!.family);
  };

const closeUnlessAllowed = (socket: Socket, rules: EgressRules, destination: Destination): EgressError | null => {
  try {
    rules.checkAddress(destination, socket.remoteAddress ?? '');
    return null;
  } catch (error) {
    socket.destroy();
    return error as EgressError;
  }
};

export type ConnectorOptions = {
  readonly rules: EgressRules;
  readonly connectTimeoutMs: number;
  /** Resolves host names. By default, by DNS. */
  readonly resolve?: ResolveHost | undefined;
  /** undici's function that creates connectors. */
  readonly build: typeof buildConnector;
};

/**
 * Creates the function with which undici opens connections. It resolves the host's name once, and refuses the host if
 * any of the addresses is forbidden. It connects only to one of these addresses, and checks the address of the
 * connected socket again before the request is sent.
 */
export const guardedConnector = ({ rules, connectTimeoutMs, resolve = resolveByDns, build }: ConnectorOptions): Connector => {
  const addressesOf = async (destination: Destination): Promise<readonly string[]> => {
    const { hostname } = destination;
    if (ipAddressOf(hostname)) return [hostname];
    const addresses = await (rules.isNamed(destination) ? resolveBySystem(hostname) : resolve(hostname));
    if (addresses.length === 0) throw new EgressError('unreachable', `${hostname} has no address`);
    return addresses;
  };

  const checkedAddresses = async (destination: Destination): Promise<readonly string[]> => {
    const addresses = await addressesOf(destination);
    for (const address of addresses) rules.checkAddress(destination, address);
    return addresses;
  };

  return (options, callback) => {
    const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80);
    const destination = { hostname: options.hostname, port };
    const connect = (addresses: readonly string[]): void => {
      const open = build({ timeout: connectTimeoutMs, allowH2: false, lookup: checkedLookup(addresses) });
      open(options, (...[error, socket]) => {
        const refused = socket && closeUnlessAllowed(socket, rules, destination);
        if (error || refused) return callback((error ?? refused) as Error, null);
        callback(null, socket as Socket);
      });
    };
    checkedAddresses(destination).then(connect, (error: Error) => callback(error, null));
  };
};
