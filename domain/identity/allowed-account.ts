import type { Recorded } from '../event.ts';
import { conflict, Refusal } from '../refusal.ts';

export const category = 'account';
export const platform = true;

export type AllowedAccountEvent =
  | { type: 'AccountAllowed'; data: { email: string; generation: number } }
  | { type: 'AccountDisallowed'; data: object };

/**
 * An e-mail address whose user may sign in. `disallowed` is final: if the same e-mail address is allowed again, the
 * next generation of its unique key gets a new id and stream.
 */
export type AllowedAccount = { status: 'absent' | 'allowed' | 'disallowed'; id: string; email: string; created_at: string };

export const initial: AllowedAccount = { status: 'absent', id: '', email: '', created_at: '' };

export const evolve = (account: AllowedAccount, event: Recorded<AllowedAccountEvent>): AllowedAccount => {
  switch (event.type) {
    case 'AccountAllowed':
      return { status: 'allowed', id: event.id, email: event.data.email, created_at: event.at };
    case 'AccountDisallowed':
      return { ...account, status: 'disallowed' };
  }
};

/**
 * Allows the user of an e-mail address to sign in. A disallowed address is never allowed again in the same stream:
 * returns no event, and the caller tries the next generation of the address, which has a new stream.
 * @throws Refusal conflict if the e-mail address is already allowed
 */
export const allow =
  (email: string, generation: number) =>
  ({ status }: AllowedAccount): AllowedAccountEvent[] => {
    if (status === 'allowed') throw conflict('/email', 'already_allowed', `The address ${email} is already allowed`);
    return status === 'absent' ? [{ type: 'AccountAllowed', data: { email, generation } }] : [];
  };

/**
 * Takes away the permission of the user with this e-mail address to sign in.
 * @throws Refusal not_found if the e-mail address is not allowed
 */
export const disallow = ({ status }: AllowedAccount): AllowedAccountEvent[] => {
  if (status !== 'allowed') throw new Refusal('not_found', 'There is no such account');
  return [{ type: 'AccountDisallowed', data: {} }];
};
