/** Who asks. A tenant key acts as its creator in one tenant, a platform key everywhere, a runner key as one agent. */
export type Principal =
  | {
      readonly kind: 'user';
      readonly user_id: string;
      readonly key_id: string | null;
      /** The tenant the key is bound to; null: bound to none. */
      readonly bound_to: string | null;
      readonly super_admin: boolean;
    }
  | { readonly kind: 'runner'; readonly agent_id: string; readonly tenant_id: string; readonly key_id: string }
  | { readonly kind: 'system'; readonly name: string };

/** The id of the calling user or agent; of the platform, the name of the part that acts. */
export const callerIdOf = (principal: Principal): string =>
  principal.kind === 'user' ? principal.user_id : principal.kind === 'runner' ? principal.agent_id : principal.name;

/** The caller as text. Stored: stream names and event ids under an Idempotency-Key are derived from it, so it must never change. */
export const callerOf = (principal: Principal): string =>
  principal.kind === 'system' ? principal.name : `${principal.kind} ${callerIdOf(principal)}`;
