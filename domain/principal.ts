import { Refusal } from './refusal.ts';
import type { TenantRole } from './tenants/tenant-role.ts';

/**
 * The authenticated caller of a request. A tenant key stands for the user who owns it, limited to one tenant. A
 * platform key or a sign-in stands for a user in all their tenants. A runner key stands for one agent. `system` is the
 * platform itself.
 */
export type Principal =
  | {
      readonly kind: 'user';
      readonly user_id: string;
      readonly key_id: string | null;
      /** The only tenant that the caller may access; null if the caller may access several. */
      readonly bound_to: string | null;
      readonly super_admin: boolean;
      /**
       * The highest role in the tenant with which the caller acts. It is present only if the API key limits the caller
       * to a lower role than that of the key's owner.
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
      /** If true, the tenant is suspended. The runner may then end its sessions, and nothing else. */
      readonly is_suspended?: true;
    }
  | { readonly kind: 'system'; readonly name: string };

export const tenantSuspended = (): Refusal => new Refusal('tenant_suspended', 'The tenant is suspended');

/** Checks that the caller is not a runner of a suspended tenant. @throws Refusal tenant_suspended if it is */
export const assertNotSuspended = (principal: Principal): void => {
  if (principal.kind === 'runner' && principal.is_suspended) throw tenantSuspended();
};

/**
 * Returns the id of the calling user or agent. If the caller is the platform itself, returns the name of the component
 * that acts.
 */
export const callerIdOf = (principal: Principal): string =>
  principal.kind === 'user' ? principal.user_id : principal.kind === 'runner' ? principal.agent_id : principal.name;

/**
 * Returns a text that identifies the caller. The form of this text must never change: the stream names and event ids of
 * requests with an Idempotency-Key are derived from it.
 */
export const callerOf = (principal: Principal): string =>
  principal.kind === 'system' ? principal.name : `${principal.kind} ${callerIdOf(principal)}`;
