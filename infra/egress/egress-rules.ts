import { EgressError } from './egress-error.ts';
import { type IpRange, ipAddressOf, ipRangeOf, isInRange, isPublicAddress } from './ip-address.ts';

/** The ports to which requests are sent without an entry in EGRESS_ALLOW. */
const DEFAULT_PORTS: readonly number[] = [443, 8443];
const MAX_URL_LENGTH = 2_048;

/** `name` is a host name, `range` a range of addresses; a null `port` means all ports. */
type Allowance = { readonly name: string | null; readonly range: IpRange | null; readonly port: number | null };

export type Destination = { readonly hostname: string; readonly port: number };

export type EgressRuleOptions = {
  readonly allow?: readonly string[] | undefined;
  /** The ports that need no entry; 443 and 8443 if absent. */
  readonly ports?: readonly number[] | undefined;
};

export type EgressRules = {
  /** Returns whether EGRESS_ALLOW contains this host or, if the host is an address, a range that includes it. */
  readonly isNamed: (destination: Destination) => boolean;
  /** Checks the scheme, the host, the port and, if the host is an IP address, also the address. @throws EgressError forbidden */
  readonly checkUrl: (text: string) => URL;
  /** Checks one of the addresses to which the host's name resolves. @throws EgressError forbidden */
  readonly checkAddress: (destination: Destination, address: string) => void;
};

const nameOf = (hostname: string): string => hostname.toLowerCase().replace(/\.$/, '');

const allowanceOf = (entry: string): Allowance => {
  const range = ipRangeOf(entry);
  if (range) return { name: null, range, port: null };
  const [, host = entry, port] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  const address = ipRangeOf(host);
  return { name: address ? null : nameOf(host), range: address, port: port === undefined ? null : Number(port) };
};

export const destinationOf = ({ hostname, port, protocol }: URL): Destination => ({
  hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
  port: Number(port) || (protocol === 'https:' ? 443 : 80),
});

const forbidden = (message: string): EgressError => new EgressError('forbidden', message);

const parseUrl = (text: string): URL => {
  if (text.length > MAX_URL_LENGTH) throw forbidden(`The URL must have at most ${MAX_URL_LENGTH} characters`);
  if (!URL.canParse(text)) throw forbidden('This is not a valid URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw forbidden('The URL must begin with https://');
  if (url.username !== '' || url.password !== '') throw forbidden('The URL must not contain a user name or a password');
  return url;
};

/**
 * Public addresses by HTTPS on the ports 443 and 8443 are allowed. An entry of `allow` (EGRESS_ALLOW), a host or a range of addresses, also
 * allows HTTP and any port or, if it has one, only this port.
 */
export const createEgressRules = ({ allow = [], ports = DEFAULT_PORTS }: EgressRuleOptions = {}): EgressRules => {
  const allowances = allow.map(allowanceOf);

  const matches = ({ hostname, port }: Destination, address: string): boolean => {
    const ip = ipAddressOf(address);
    return allowances.some((entry) => {
      if (entry.port !== null && entry.port !== port) return false;
      if (entry.name !== null) return entry.name === nameOf(hostname);
      return ip !== null && isInRange(ip, entry.range!);
    });
  };

  const isNamed = (destination: Destination): boolean => matches(destination, destination.hostname);

  const checkAddress = (destination: Destination, address: string): void => {
    const ip = ipAddressOf(address);
    if (ip && (isPublicAddress(ip) || matches(destination, address))) return;
    throw forbidden(`Requests to ${destination.hostname} are not allowed: its address is not public`);
  };

  const checkUrl = (text: string): URL => {
    const url = parseUrl(text);
    const destination = destinationOf(url);
    if (isNamed(destination)) return url;
    if (url.protocol !== 'https:') throw forbidden('The URL must begin with https://');
    if (!ports.includes(destination.port)) throw forbidden(`Requests to port ${destination.port} are not allowed`);
    if (/(^|\.)localhost\.?$/.test(destination.hostname) || ipAddressOf(destination.hostname))
      checkAddress(destination, destination.hostname);
    return url;
  };

  return { isNamed, checkUrl, checkAddress };
};
