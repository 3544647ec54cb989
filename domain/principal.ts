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
