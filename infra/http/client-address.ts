import { BlockList, isIP } from 'node:net';
import type { Context } from 'hono';

type Incoming = { incoming?: { socket?: { remoteAddress?: string | undefined } } };

const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '');
/** Some proxies write the port too, and then an IPv6 address in brackets. */
const withoutPort = (hop: string): string => hop.replace(/^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2');
const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

const listOf = (ranges: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(address, family(address));
    else list.addSubnet(address, Number(bits), family(address));
  }
  return list;
};

export const isLoopback = (address: string | null): boolean => address !== null && (address === '::1' || plain(address).startsWith('127.'));

/** Who is at the other end: the peer, or, where that is a trusted proxy, the last address before the trusted ones in X-Forwarded-For. */
export const clientAddress = (trustedProxies: readonly string[] = []): ((c: Context) => string | null) => {
  const trusted = listOf(trustedProxies);
  const isTrusted = (address: string): boolean => isIP(address) > 0 && trusted.check(address, family(address));
  return (c) => {
    const peer = (c.env as Incoming | undefined)?.incoming?.socket?.remoteAddress;
    if (peer === undefined) return null;
    let address = plain(peer);
    if (trustedProxies.length === 0 || !isTrusted(address)) return address;
    for (const hop of (c.req.header('x-forwarded-for') ?? '').split(',').reverse()) {
      const candidate = plain(withoutPort(hop.trim()));
      if (isIP(candidate) === 0) return address;
      address = candidate;
      if (!isTrusted(candidate)) return address;
    }
    return address;
  };
};

/** What proxies add to what they send on. */
const SENT_ON = ['x-forwarded-for', 'forwarded', 'via'];

/** Whether a request was made on this machine: what a proxy on it has sent on was not. */
export const isLocalRequest =
  (address: (c: Context) => string | null) =>
  (c: Context): boolean =>
    isLoopback(address(c)) && SENT_ON.every((name) => c.req.header(name) === undefined);
