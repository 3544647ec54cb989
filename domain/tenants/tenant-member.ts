import type { EventRef } from '../event.ts';
import type { TenantRole } from './tenant-role.ts';

/** `by`: the event that gave the present role; `since`: sort key of the position at which the membership began. */
export type Member = { role: TenantRole; created_at: string; since: string; by: EventRef };

/**
 * A member can get an API key with it once. `digest`: HMAC-SHA-256 of the token in hex. `key_id`: that API key; null until accepted.
 * `max_role`: its highest role (null: no limit); ADMIN if the event does not contain it.
 */
export type Invitation = { digest: string; issuer_id: string; expires_at: string; key_id: string | null; max_role: 'ADMIN' | null };
