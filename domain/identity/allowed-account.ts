import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';

export const category = 'account';
export const platform = true;

export type AllowedAccountEvent =
  | { type: 'AccountAllowed'; data: { email: string; generation: number } }
  | { type: 'AccountDisallowed'; data: object };

/** `disallowed` is for good: an address that is allowed again begins the next generation. */
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

/** Lets whoever has this address sign in; a generation that is over stays as it is. @throws Refusal conflict where that is so already */
export const allow =
  (email: string, generation: number) =>
  ({ status }: AllowedAccount): AllowedAccountEvent[] => {
    if (status === 'allowed') throw new Refusal('conflict', 'this address is allowed already');
    return status === 'absent' ? [{ type: 'AccountAllowed', data: { email, generation } }] : [];
  };

/** @throws Refusal not_found */
export const disallow = ({ status }: AllowedAccount): AllowedAccountEvent[] => {
  if (status !== 'allowed') throw new Refusal('not_found', 'there is no such account');
  return [{ type: 'AccountDisallowed', data: {} }];
};
