import { Refusal } from './refusal.ts';
import type { TenantRole } from './tenants/tenant-role.ts';

/**
 * A tenant key acts for its owner in one tenant; a platform key or a sign-in for a user in all their tenants; a runner key for one agent.
 * `system` is the platform itself.
 */
export type Principal =
  | {
      readonly kind: 'user';
      readonly user_id: string;
      readonly key_id: string | null;
      /** The only tenant that the caller may access; null: several. */
      readonly bound_to: string | null;
      readonly super_admin: boolean;
      /** Only if the API key limits the caller to a lower role than that of its owner. */
      readonly max_role?: TenantRole;
      readonly read_only?: true;
      /** When the user signed in at the issuer (RFC 3339 UTC); only for browsers. */
      readonly signed_in_at?: string;
      /** Only for browsers. */
      readonly sign_in_id?: string;
    }
  | {
      readonly kind: 'runner';
      readonly agent_id: string;
      readonly tenant_id: string;
      readonly key_id: string;
      readonly read_only?: true;
      /** The runner may then end its sessions, and nothing else. */
      readonly is_suspended?: true;
    }
  | { readonly kind: 'system'; readonly name: string };

export const tenantSuspended = (): Refusal => new Refusal('tenant_suspended', 'The tenant is suspended');

/** @throws Refusal tenant_suspended if the caller is a runner of a suspended tenant */
export const assertNotSuspended = (principal: Principal): void => {
  if (principal.kind === 'runner' && principal.is_suspended) throw tenantSuspended();
};

/** For the platform itself, the name of the component that acts. */
export const callerIdOf = (principal: Principal): string =>
  principal.kind === 'user' ? principal.user_id : principal.kind === 'runner' ? principal.agent_id : principal.name;

/** Its form must never change: stream names and event ids of requests with an Idempotency-Key are derived from it. */
export const callerOf = (principal: Principal): string =>
  principal.kind === 'system' ? principal.name : `${principal.kind} ${callerIdOf(principal)}`;
