import { Refusal } from './refusal.ts';
import type { TenantRole } from './tenants/tenant-role.ts';

/**
 * The authenticated caller of a request. With a tenant key, it is the owner of the key, limited to one tenant. With a
 * platform key or a sign-in, it is a user in all their tenants. With a runner key, it is one agent. `system` is the
 * platform itself.
 */
export type Principal =
  | {
      readonly kind: 'user';
      readonly user_id: string;
      readonly key_id: string | null;
      /** The only tenant that the caller may access; null if there is no such limit. */
      readonly bound_to: string | null;
      readonly super_admin: boolean;
      /**
       * The highest role in the tenant with which the caller acts. Set only if the API key limits the caller to less
       * than the role of its owner.
       */
      readonly max_role?: TenantRole;
      /** If true, the API key allows only reads. */
      readonly read_only?: true;
      /** When the browser signed in at the issuer (RFC 3339 UTC); absent for all other credentials. */
      readonly signed_in_at?: string;
      /** The id of the browser's sign-in; absent for all other credentials. */
      readonly sign_in_id?: string;
    }
  | {
      readonly kind: 'runner';
      readonly agent_id: string;
      readonly tenant_id: string;
      readonly key_id: string;
      readonly read_only?: true;
      /** If true, the tenant is suspended. The runner may then only end its sessions. */
      readonly is_suspended?: true;
    }
  | { readonly kind: 'system'; readonly name: string };

export const tenantSuspended = (): Refusal => new Refusal('tenant_suspended', 'The tenant is suspended');

/** Refuses a runner whose tenant is suspended. @throws Refusal tenant_suspended */
export const assertNotSuspended = (principal: Principal): void => {
  if (principal.kind === 'runner' && principal.is_suspended) throw tenantSuspended();
};

/** Returns the id of the calling user or agent or, if the caller is the platform itself, the name of its component. */
export const callerIdOf = (principal: Principal): string =>
  principal.kind === 'user' ? principal.user_id : principal.kind === 'runner' ? principal.agent_id : principal.name;

/**
 * Returns the caller as text. This text must never change: the stream names and event ids of requests with an
 * Idempotency-Key are derived from it.
 */
export const callerOf = (principal: Principal): string =>
  principal.kind === 'system' ? principal.name : `${principal.kind} ${callerIdOf(principal)}`;
