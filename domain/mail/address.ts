/** The two slugs in the address of a mailbox, which together identify the agent that owns the mailbox. */
export type AddressSlugs = { readonly agent: string; readonly tenant: string };

const SLUG = '[a-z0-9][a-z0-9-]{0,63}';
const LOCAL_PART = new RegExp(`^(?<agent>${SLUG})\\.(?<tenant>${SLUG})$`);

/**
 * Returns the address of an agent's mailboxes. Because slugs contain no dot, an address identifies exactly one agent of
 * one tenant.
 */
export const addressOf = ({ agent, tenant }: AddressSlugs, domain: string): string => `${agent}.${tenant}@${domain}`;

export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase();

/**
 * Returns the slugs in an address; null if the address is not in this domain or has not the form of an agent's address.
 * A plus sign in the part before the @, and the characters after it, are ignored.
 */
export const slugsIn = (address: string, domain: string): AddressSlugs | null => {
  const at = address.lastIndexOf('@');
  if (at < 0 || domainOf(address) !== domain.toLowerCase()) return null;
  const [local = ''] = address.slice(0, at).toLowerCase().split('+', 1);
  const found = LOCAL_PART.exec(local)?.groups;
  return found ? { agent: found.agent!, tenant: found.tenant! } : null;
};
