import type { Recorded } from '../event.ts';
import { conflict, Refusal } from '../refusal.ts';

export const category = 'account';
export const platform = true;

export type AllowedAccountEvent =
  | { type: 'AccountAllowed'; data: { email: string; generation: number } }
  | { type: 'AccountDisallowed'; data: object };

/** `disallowed` is final: if the address is allowed again, it gets a new id and stream, the next generation of its unique key. */
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
 * No event if the address in this stream was disallowed: the caller then tries its next generation. @throws Refusal conflict if it is
 * allowed
 */
export const allow =
  (email: string, generation: number) =>
  ({ status }: AllowedAccount): AllowedAccountEvent[] => {
    if (status === 'allowed') throw conflict('/email', 'already_allowed', `The address ${email} is already allowed`);
    return status === 'absent' ? [{ type: 'AccountAllowed', data: { email, generation } }] : [];
  };

/** @throws Refusal not_found if the e-mail address is not allowed */
export const disallow = ({ status }: AllowedAccount): AllowedAccountEvent[] => {
  if (status !== 'allowed') throw new Refusal('not_found', 'There is no such account');
  return [{ type: 'AccountDisallowed', data: {} }];
};
