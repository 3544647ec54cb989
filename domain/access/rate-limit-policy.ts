import type { Principal } from '../principal.ts';

/**
 * A token bucket: a full one allows `quota` requests, and an empty one is full again after `seconds`. The API processes
 * share their counts. While they cannot, because the database is down, each applies the limit alone; with `failsClosed`,
 * it allows only the requests of its current lease (its share of the quota).
 */
export type RateLimitPolicy = { readonly name: string; readonly quota: number; readonly seconds: number; readonly failsClosed?: true };

/**
 * The kinds of requests that cost more than others, or that reach people outside of the tenant. Each tenant has one
 * limit for each kind.
 */
export type LimitedFlow = 'clone' | 'invite' | 'checkout' | 'publish';

export type RateLimitPolicies = {
  /**
   * The limit per API key (including runner keys) or signed-in user. The quota is higher than what a machine can serve,
   * so the limit stops only clients that are out of control.
   */
  readonly credential: RateLimitPolicy;
  /** The limit for all API keys of one tenant together. */
  readonly tenant: RateLimitPolicy;
  /**
   * The limit per platform key or signed-in super-admin. Like the limit per API key, it is so high that it stops only
   * clients that are out of control.
   */
  readonly platform: RateLimitPolicy;
  /** The limit on requests with invalid credentials, per IP address of the client. */
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

/**
 * The limit on new webhook deliveries to one tenant. `quota` is the number of deliveries per minute that the tenant's
 * plan allows.
 */
export const deliveryPolicy = (quota: number): RateLimitPolicy => ({ name: 'webhooks', quota, seconds: 60 });

/**
 * One rate limit that a request counts against, and the `key` (such as a tenant id) of the bucket in it. Each key has a
 * bucket of its own; the request takes one token from it.
 */
export type RateLimitCharge = { readonly policy: RateLimitPolicy; readonly key: string };

type Caller = Exclude<Principal, { kind: 'system' }>;

const tenantOf = (caller: Caller): string | null => (caller.kind === 'runner' ? caller.tenant_id : caller.bound_to);

const keyOf = (caller: Caller): string => caller.key_id ?? (caller.kind === 'user' ? caller.user_id : caller.agent_id);

/**
 * Returns all limits that a request of this caller counts against. A super-admin whose credential is not bound to a
 * tenant (a platform key or a sign-in) counts only against the platform limit.
 */
export const requestCharges = (policies: RateLimitPolicies, caller: Caller): readonly RateLimitCharge[] => {
  const key = keyOf(caller);
  const tenant = tenantOf(caller);
  if (tenant === null && caller.kind === 'user' && caller.super_admin) return [{ policy: policies.platform, key }];
  const own: RateLimitCharge = { policy: policies.credential, key };
  return tenant === null ? [own] : [own, { policy: policies.tenant, key: tenant }];
};

/**
 * Returns the limit that a new delivery to this tenant counts against. The key of its bucket contains the quota, so
 * that a tenant that changes to a plan with another quota starts with a full bucket.
 */
export const deliveryCharge = (policy: RateLimitPolicy, tenant_id: string): RateLimitCharge => ({
  policy,
  key: `${policy.quota} ${tenant_id}`,
});
