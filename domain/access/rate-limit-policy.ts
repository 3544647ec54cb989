import type { Principal } from '../principal.ts';

/**
 * A token bucket of `quota` requests, refilled in `seconds`. API processes share it. While the database is down, each applies it alone;
 * with `failsClosed`, only up to its current lease (its share of the quota).
 */
export type RateLimitPolicy = { readonly name: string; readonly quota: number; readonly seconds: number; readonly failsClosed?: true };

/** Requests that cost more than others, or that reach people outside of the tenant. One limit per tenant and kind. */
export type LimitedFlow = 'clone' | 'invite' | 'checkout' | 'publish';

export type RateLimitPolicies = {
  /** Per API key (including runner keys) or signed-in user. Only stops clients that are out of control. */
  readonly credential: RateLimitPolicy;
  /** The limit for all API keys of one tenant together. */
  readonly tenant: RateLimitPolicy;
  /** Per platform key or signed-in super-admin. Only stops clients that are out of control. */
  readonly platform: RateLimitPolicy;
  /** The limit for requests with invalid credentials, per IP address. */
  readonly badCredentials: RateLimitPolicy;
  readonly flows: Readonly<Record<LimitedFlow, RateLimitPolicy>>;
};

const HOUR = 3_600;

export const RATE_LIMIT_POLICIES: RateLimitPolicies = {
  credential: { name: 'credential', quota: 1_000_000, seconds: 60 },
  tenant: { name: 'tenant', quota: 5_000_000, seconds: 60 },
  platform: { name: 'platform', quota: 10_000_000, seconds: 60 },
  badCredentials: { name: 'bad-credentials', quota: 20, seconds: 60, failsClosed: true },
  flows: {
    clone: { name: 'clones', quota: 200, seconds: HOUR },
    invite: { name: 'invitations', quota: 200, seconds: HOUR },
    checkout: { name: 'checkouts', quota: 30, seconds: HOUR },
    publish: { name: 'publications', quota: 100, seconds: HOUR },
  },
};

/** For new webhook deliveries to one tenant; `quota` is per minute, by the tenant's plan. */
export const deliveryPolicy = (quota: number): RateLimitPolicy => ({ name: 'webhooks', quota, seconds: 60 });

/** Each `key` (such as a tenant id) has its own bucket; the request takes one token from it. */
export type RateLimitCharge = { readonly policy: RateLimitPolicy; readonly key: string };

type Caller = Exclude<Principal, { kind: 'system' }>;

const tenantOf = (caller: Caller): string | null => (caller.kind === 'runner' ? caller.tenant_id : caller.bound_to);

const keyOf = (caller: Caller): string => caller.key_id ?? (caller.kind === 'user' ? caller.user_id : caller.agent_id);

/** A super-admin whose credential is not bound to a tenant counts only against the platform limit. */
export const requestCharges = (policies: RateLimitPolicies, caller: Caller): readonly RateLimitCharge[] => {
  const key = keyOf(caller);
  const tenant = tenantOf(caller);
  if (tenant === null && caller.kind === 'user' && caller.super_admin) return [{ policy: policies.platform, key }];
  const own: RateLimitCharge = { policy: policies.credential, key };
  return tenant === null ? [own] : [own, { policy: policies.tenant, key: tenant }];
};

/** The key contains the quota: a tenant that changes to a plan with another quota starts with a full bucket. */
export const deliveryCharge = (policy: RateLimitPolicy, tenant_id: string): RateLimitCharge => ({
  policy,
  key: `${policy.quota} ${tenant_id}`,
});
