import { BlockList, isIP } from 'node:net';
import type { Context } from 'hono';

type NodeEnv = { incoming?: { socket?: { remoteAddress?: string | undefined } } };

/** A dual-stack socket writes an IPv4 address as IPv6 with `::ffff:`. */
const unmapped = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '');
/** Some proxies add a port, and brackets around an IPv6 address that has a port. */
const withoutPort = (hop: string): string => hop.replace(/^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2');
const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

const blockListOf = (ranges: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return list;
};

export const isLoopback = (address: string | null): boolean =>
  address !== null && (address === '::1' || unmapped(address).startsWith('127.'));

/**
 * The socket's peer or, if that is a trusted proxy, the last address in X-Forwarded-For that is not one. Null without a socket, as in
 * tests.
 */
export const clientAddress = (trustedProxies: readonly string[] = []): ((c: Context) => string | null) => {
  const trusted = blockListOf(trustedProxies);
  const isTrusted = (address: string): boolean => isIP(address) > 0 && trusted.check(address, familyOf(address));
  return (c) => {
    const peer = (c.env as NodeEnv | undefined)?.incoming?.socket?.remoteAddress;
    if (peer === undefined) return null;
    let address = unmapped(peer);
    if (trustedProxies.length === 0 || !isTrusted(address)) return address;
    for (const hop of (c.req.header('x-forwarded-for') ?? '').split(',').reverse()) {
      const candidate = unmapped(withoutPort(hop.trim()));
      if (isIP(candidate) === 0) return address;
      address = candidate;
      if (!isTrusted(candidate)) return address;
    }
    return address;
  };
};

const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded', 'via'];

/** Returns whether a request was made on this machine, and not forwarded by a proxy that runs on this machine. */
export const isLocalRequest =
  (address: (c: Context) => string | null) =>
  (c: Context): boolean =>
    isLoopback(address(c)) && FORWARDING_HEADERS.every((name) => c.req.header(name) === undefined);
