import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';

export const category = 'account';
export const platform = true;

export type AllowedAccountEvent =
  | { type: 'AccountAllowed'; data: { email: string; generation: number } }
  | { type: 'AccountDisallowed'; data: object };

/**
 * One e-mail address that may sign in. `disallowed` is final: if the address is allowed again, a new generation of its
 * unique key begins.
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
 * Allows an e-mail address to sign in. Returns no event if this generation is disallowed: the caller tries the next
 * one.
 * @throws Refusal conflict if the address is already allowed
 */
export const allow =
  (email: string, generation: number) =>
  ({ status }: AllowedAccount): AllowedAccountEvent[] => {
    if (status === 'allowed') throw new Refusal('conflict', 'This address is already allowed');
    return status === 'absent' ? [{ type: 'AccountAllowed', data: { email, generation } }] : [];
  };

/** Stops the e-mail address from signing in. @throws Refusal not_found */
export const disallow = ({ status }: AllowedAccount): AllowedAccountEvent[] => {
  if (status !== 'allowed') throw new Refusal('not_found', 'There is no such account');
  return [{ type: 'AccountDisallowed', data: {} }];
};
