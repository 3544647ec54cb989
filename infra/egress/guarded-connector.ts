import { lookup, Resolver } from 'node:dns/promises';
import type { LookupFunction, Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { EgressError } from './egress-error.ts';
import type { Destination, EgressRules } from './egress-rules.ts';
import { ipAddressOf } from './ip-address.ts';

const DNS_TIMEOUT = { timeout: 2_000, tries: 2 };

/** @throws Error if the name has no address, or DNS does not answer */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

type Connector = buildConnector.connector;

const resolver = new Resolver(DNS_TIMEOUT);

/** `lookup` of node:dns occupies one of the few threads that Node also needs for files: slow DNS servers could stop the process. */
export const resolveByDns: ResolveHost = async (hostname) => {
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason;
  return addresses;
};

/** Also reads the hosts file of the operating system. Used for hosts that the operator has listed in EGRESS_ALLOW. */
export const resolveBySystem: ResolveHost = async (hostname) =>
  (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);

/** Returns addresses that were already checked, so that the name is not resolved again. */
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
  /** By default, by DNS. */
  readonly resolve?: ResolveHost | undefined;
  readonly build: typeof buildConnector;
};

/**
 * Resolves the host's name once, and refuses it if any address is forbidden. Connects only to one of these addresses, and checks that of
 * the connected socket again before the request is sent.
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
