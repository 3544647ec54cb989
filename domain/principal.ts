/**
 * The authenticated caller. A tenant key acts as its owner in one tenant, a platform key in all tenants, a runner key
 * as one agent.
 */
export type Principal =
  | {
      readonly kind: 'user';
      readonly user_id: string;
      readonly key_id: string | null;
      /** The only tenant that the key may access; null: all tenants of the user. */
      readonly bound_to: string | null;
      readonly super_admin: boolean;
    }
  | { readonly kind: 'runner'; readonly agent_id: string; readonly tenant_id: string; readonly key_id: string }
  | { readonly kind: 'system'; readonly name: string };

/** The id of the calling user or agent; of the platform, the name of the part that acts. */
export const callerIdOf = (principal: Principal): string =>
  principal.kind === 'user' ? principal.user_id : principal.kind === 'runner' ? principal.agent_id : principal.name;

/**
 * The caller as text. Stored: stream names and event ids under an Idempotency-Key are derived from it, so it must never
 * change.
 */
export const callerOf = (principal: Principal): string =>
  principal.kind === 'system' ? principal.name : `${principal.kind} ${callerIdOf(principal)}`;
