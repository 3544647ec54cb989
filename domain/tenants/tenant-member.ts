import type { EventRef } from '../event.ts';
import type { TenantRole } from './tenant-role.ts';

/**
 * A member of the tenant. `by` is the event that gave the member the present role. `since` is the sort key of the log
 * position at which the membership began.
 */
export type Member = { role: TenantRole; created_at: string; since: string; by: EventRef };

/**
 * The latest invitation of a member, with which the member can get an API key once. `digest` is the HMAC-SHA-256 of the
 * token in hex. `key_id` is the id of that API key; null until the invitation is accepted. `max_role` is the highest
 * role of that key (null: no limit). If the event does not contain `max_role`, it is ADMIN.
 */
export type Invitation = { digest: string; issuer_id: string; expires_at: string; key_id: string | null; max_role: 'ADMIN' | null };
