import type { Principal } from '../principal.ts';

/**
 * Allows at most `quota` requests in any period of `seconds`; the quota refills evenly. API processes share their
 * counts. While they cannot, each process applies the limit on its own. With `failsClosed`, each then allows only its
 * current lease (its share of the quota).
 */
export type RateLimitPolicy = { readonly name: string; readonly quota: number; readonly seconds: number; readonly failsClosed?: true };

export type RateLimitPolicies = {
  /**
   * Limits one API key, one runner key or one signed-in user. No machine can serve this many requests: the limit only
   * stops clients that are out of control.
   */
  readonly credential: RateLimitPolicy;
  /** Limits all keys of one tenant together. */
  readonly tenant: RateLimitPolicy;
  /**
   * Limits one platform key or one signed-in super-admin. Both run the platform, so the limit only stops clients that
   * are out of control.
   */
  readonly platform: RateLimitPolicy;
  /** Limits requests with invalid credentials from one IP address. */
  readonly badCredentials: RateLimitPolicy;
};

export const RATE_LIMIT_POLICIES: RateLimitPolicies = {
  credential: { name: 'credential', quota: 1_000_000, seconds: 60 },
  tenant: { name: 'tenant', quota: 5_000_000, seconds: 60 },
  platform: { name: 'platform', quota: 10_000_000, seconds: 60 },
  badCredentials: { name: 'bad-credentials', quota: 20, seconds: 60, failsClosed: true },
};

/**
 * The limit on the new webhook deliveries of one tenant. `quota` is the number of deliveries per minute that its plan
 * allows.
 */
export const deliveryPolicy = (quota: number): RateLimitPolicy => ({ name: 'webhooks', quota, seconds: 60 });

/**
 * One request that counts against a limit. Each policy has one token bucket per key; the request takes one token from
 * it.
 */
export type RateLimitCharge = { readonly policy: RateLimitPolicy; readonly key: string };

type Caller = Exclude<Principal, { kind: 'system' }>;

const tenantOf = (caller: Caller): string | null => (caller.kind === 'runner' ? caller.tenant_id : caller.bound_to);

const keyOf = (caller: Caller): string => caller.key_id ?? (caller.kind === 'user' ? caller.user_id : caller.agent_id);

/**
 * The limits that a request of this caller counts against. A super-admin whose credential is not bound to a tenant (a
 * platform key or a sign-in) counts only against the platform limit.
 */
export const requestCharges = (policies: RateLimitPolicies, caller: Caller): readonly RateLimitCharge[] => {
  const key = keyOf(caller);
  const tenant = tenantOf(caller);
  if (tenant === null && caller.kind === 'user' && caller.super_admin) return [{ policy: policies.platform, key }];
  const own: RateLimitCharge = { policy: policies.credential, key };
  return tenant === null ? [own] : [own, { policy: policies.tenant, key: tenant }];
};

/**
 * The limit that a new delivery counts against. The bucket key contains the quota, so a tenant that changes its plan
 * starts with a full bucket.
 */
export const deliveryCharge = (policy: RateLimitPolicy, tenant_id: string): RateLimitCharge => ({
  policy,
  key: `${policy.quota} ${tenant_id}`,
});
