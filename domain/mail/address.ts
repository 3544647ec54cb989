/** Together, the slugs identify the agent that owns the mailbox. */
export type AddressSlugs = { readonly agent: string; readonly tenant: string };

const SLUG = '[a-z0-9][a-z0-9-]{0,63}';
const LOCAL_PART = new RegExp(`^(?<agent>${SLUG})\\.(?<tenant>${SLUG})$`);

/** Slugs contain no dot, so an address identifies exactly one agent of one tenant. */
export const addressOf = ({ agent, tenant }: AddressSlugs, domain: string): string => `${agent}.${tenant}@${domain}`;

export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase();

/** Null if the address is not an agent's, or not in this domain. Ignores a plus sign before the @, and the characters after it. */
export const slugsIn = (address: string, domain: string): AddressSlugs | null => {
  const at = address.lastIndexOf('@');
  if (at < 0 || domainOf(address) !== domain.toLowerCase()) return null;
  const [local = ''] = address.slice(0, at).toLowerCase().split('+', 1);
  const found = LOCAL_PART.exec(local)?.groups;
  return found ? { agent: found.agent!, tenant: found.tenant! } : null;
};
