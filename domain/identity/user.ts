import type { Recorded } from '../event.ts';
import { cleanDisplayText } from '../fields.ts';
import { type ById, type Transient, withEntry, withoutEntry } from '../immutable-record.ts';
import type { Principal } from '../principal.ts';
import { Refusal } from '../refusal.ts';
import { isUsageDue } from './usage.ts';

export const category = 'user';
export const platform = true;

export type UserEvent =
  | { type: 'UserRegistered'; data: { email: string; name: string | null } }
  | { type: 'UserSeen'; data: object }
  | { type: 'UserSuspended'; data: { reason: string | null } }
  | { type: 'UserResumed'; data: { reason: string | null } }
  | { type: 'SuperAdminGranted'; data: { reason: string | null } }
  | { type: 'SuperAdminRevoked'; data: { reason: string | null } }
  | { type: 'AgentFavorited'; data: FavoriteAgent }
  | { type: 'AgentUnfavorited'; data: FavoriteAgent };

export type FavoriteAgent = { readonly agent_id: string; readonly tenant_id: string };

export type User = {
  status: 'absent' | 'registered';
  id: string;
  email: string;
  name: string | null;
  is_suspended: boolean;
  is_super_admin: boolean;
  created_at: string;
  last_login_at: string | null;
  /** Agent ids mapped to tenant ids. */
  favorites: ById<string>;
};

export const initial: User = {
  status: 'absent',
  id: '',
  email: '',
  name: null,
  is_suspended: false,
  is_super_admin: false,
  created_at: '',
  last_login_at: null,
  favorites: {},
};

export const MAX_NAME_LENGTH = 255;

/** Removes characters that events of earlier versions can contain and that are refused today. */
const shownName = (name: string | null): string | null => (name === null ? null : cleanDisplayText(name, MAX_NAME_LENGTH));

export const evolve = (user: User, event: Recorded<UserEvent>, transient?: Transient): User => {
  switch (event.type) {
    case 'UserRegistered': {
      const { email, name } = event.data;
      return { ...user, email, name: shownName(name), status: 'registered', id: event.id, created_at: event.at };
    }
    case 'UserSeen':
      return { ...user, last_login_at: event.at };
    case 'UserSuspended':
      return { ...user, is_suspended: true };
    case 'UserResumed':
      return { ...user, is_suspended: false };
    case 'SuperAdminGranted':
      return { ...user, is_super_admin: true };
    case 'SuperAdminRevoked':
      return { ...user, is_super_admin: false };
    case 'AgentFavorited':
      return { ...user, favorites: withEntry(user.favorites, event.data.agent_id, event.data.tenant_id, transient) };
    case 'AgentUnfavorited':
      return { ...user, favorites: withoutEntry(user.favorites, event.data.agent_id, transient) };
  }
};

/** Not limited to one tenant: the memberships of the user decide. */
export const principalOf = ({ id, is_super_admin }: User): Principal & { kind: 'user' } => ({
  kind: 'user',
  user_id: id,
  key_id: null,
  bound_to: null,
  super_admin: is_super_admin,
});

export const isActive = (user: User): boolean => user.status === 'registered' && !user.is_suspended;

/** Registers the user on an invitation or the first sign-in. Does nothing if the user is already registered. */
export const register =
  (email: string, name: string | null) =>
  (user: User): UserEvent[] =>
    user.status === 'absent' ? [{ type: 'UserRegistered', data: { email, name } }] : [];

/** At most once an hour. */
export const recordLogin =
  (at: string) =>
  (user: User): UserEvent[] =>
    isUsageDue(user.last_login_at, at) ? [{ type: 'UserSeen', data: {} }] : [];

export const grantSuperAdmin =
  (reason: string) =>
  (user: User): UserEvent[] =>
    user.is_super_admin ? [] : [{ type: 'SuperAdminGranted', data: { reason } }];

type Changes = { is_suspended?: boolean | undefined; is_super_admin?: boolean | undefined; reason: string | null };

/**
 * Changes a user as a super-admin; `isSelf`: their own user.
 * @throws Refusal not_found, conflict if super-admins would suspend themselves or take away their own access
 */
export const change =
  ({ is_suspended, is_super_admin, reason }: Changes, isSelf: boolean) =>
  (user: User): UserEvent[] => {
    if (user.status === 'absent') throw new Refusal('not_found', 'There is no such user');
    if (isSelf && (is_suspended === true || is_super_admin === false))
      throw new Refusal('conflict', 'You cannot suspend yourself or revoke your own super-admin access');
    const data = { reason };
    const events: UserEvent[] = [];
    if (is_suspended !== undefined && is_suspended !== user.is_suspended)
      events.push({ type: is_suspended ? 'UserSuspended' : 'UserResumed', data });
    if (is_super_admin !== undefined && is_super_admin !== user.is_super_admin)
      events.push({ type: is_super_admin ? 'SuperAdminGranted' : 'SuperAdminRevoked', data });
    return events;
  };
