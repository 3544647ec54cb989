import type { Recorded } from './event.ts';

export const category = 'user';
export const platform = true;

export type UserEvent =
  | { type: 'UserRegistered'; data: { email: string; name: string | null } }
  | { type: 'SuperAdminGranted'; data: { reason: string } };

export type User = {
  status: 'absent' | 'active' | 'suspended';
  id: string;
  email: string;
  name: string | null;
  is_super_admin: boolean;
  created_at: string;
};

export const initial: User = { status: 'absent', id: '', email: '', name: null, is_super_admin: false, created_at: '' };

export const evolve = (user: User, event: Recorded<UserEvent>): User => {
  switch (event.type) {
    case 'UserRegistered':
      return { ...user, ...event.data, status: 'active', id: event.id, created_at: event.at };
    case 'SuperAdminGranted':
      return { ...user, is_super_admin: true };
  }
};

/** A user is born once: by invitation or at the first sign-in. */
export const register =
  (email: string, name: string | null) =>
  (user: User): UserEvent[] =>
    user.status === 'absent' ? [{ type: 'UserRegistered', data: { email, name } }] : [];

export const grantSuperAdmin =
  (reason: string) =>
  (user: User): UserEvent[] =>
    user.is_super_admin ? [] : [{ type: 'SuperAdminGranted', data: { reason } }];
