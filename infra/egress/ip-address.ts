import ipaddr from 'ipaddr.js';

export type IpAddress = ReturnType<typeof ipaddr.process>;
export type IpRange = { readonly address: IpAddress; readonly bits: number };

/** The only block of public IPv6 addresses. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** NAT64 (RFC 6052): the last 32 bits are the IPv4 address to which a gateway forwards the packets. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** Virtual machines in Azure reach services of their host here, although it is in a public range. */
const AZURE_HOST = '168.63.129.16';

/** An IPv4 address that is mapped to IPv6 becomes IPv4. Null if the text is not an IP address. */
export const ipAddressOf = (text: string): IpAddress | null => {
  const bare = text.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.IPv4.isValidFourPartDecimal(bare) || ipaddr.IPv6.isValid(bare) ? ipaddr.process(bare) : null;
};

/** A range such as 10.0.0.0/8, or a single address; null if the text is neither. */
export const ipRangeOf = (text: string): IpRange | null => {
  const [host = '', bits] = text.split('/');
  const address = ipAddressOf(host);
  if (!address) return null;
  return { address, bits: bits === undefined ? address.toByteArray().length * 8 : Number(bits) };
};

export const isInRange = (address: IpAddress, range: IpRange): boolean =>
  address.kind() === range.address.kind() && address.match(range.address, range.bits);

const isPublicIPv6 = (address: ipaddr.IPv6): boolean => {
  if (address.match(NAT64)) return isPublicAddress(new ipaddr.IPv4(address.toByteArray().slice(12)));
  return address.match(GLOBAL_IPV6) && address.range() === 'unicast';
};

/**
 * Returns whether an address belongs to a host on the internet. Returns false for private, loopback, link-local and
 * reserved addresses, for addresses of metadata services, and for IPv6 addresses that contain an IPv4 address (6to4,
 * Teredo).
 */
export const isPublicAddress = (address: IpAddress): boolean => {
  if (address instanceof ipaddr.IPv6) return isPublicIPv6(address);
  return address.range() === 'unicast' && address.toString() !== AZURE_HOST;
};
