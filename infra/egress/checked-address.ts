import { EgressError } from './egress-error.ts';
import type { Destination, EgressRules } from './egress-rules.ts';
import { type ResolveHost, resolveByDns, resolveBySystem } from './guarded-connector.ts';
import { ipAddressOf } from './ip-address.ts';

/**
 * The caller must connect to the returned address instead of resolving the name again.
 * @throws EgressError forbidden if any address of the host is not allowed, unreachable if it has none
 */
export const checkedAddressOf = async (
  rules: EgressRules,
  destination: Destination,
  resolve: ResolveHost = resolveByDns,
): Promise<string> => {
  const { hostname } = destination;
  const find = rules.isNamed(destination) ? resolveBySystem : resolve;
  const addresses = ipAddressOf(hostname)
    ? [hostname]
    : await find(hostname).catch(() => {
        throw new EgressError('unreachable', `${hostname} has no address`);
      });
  for (const address of addresses) rules.checkAddress(destination, address);
  if (addresses.length === 0) throw new EgressError('unreachable', `${hostname} has no address`);
  return addresses[0]!;
};
