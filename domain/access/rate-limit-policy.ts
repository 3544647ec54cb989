import type { Principal } from '../principal.ts';

/**
 * At most `quota` requests in any period of `seconds`, refilled evenly. While the API processes cannot share their
 * counts, each process counts alone; with `failsClosed` each lets only one lease through.
 */
export type RateLimitPolicy = { readonly name: string; readonly quota: number; readonly seconds: number; readonly failsClosed?: true };

export type RateLimitPolicies = {
  /**
   * One API key, one runner key or one signed-in user. No machine serves this many: the limit stops only clients out of
   * control.
   */
  readonly credential: RateLimitPolicy;
  /** All keys of one tenant together. */
  readonly tenant: RateLimitPolicy;
  /**
   * One platform key or one signed-in super-admin, who run the platform: the limit stops only clients out of control.
   */
  readonly platform: RateLimitPolicy;
  /** Invalid credentials from one client address. */
  readonly badCredentials: RateLimitPolicy;
};

export const RATE_LIMIT_POLICIES: RateLimitPolicies = {
  credential: { name: 'credential', quota: 1_000_000, seconds: 60 },
  tenant: { name: 'tenant', quota: 5_000_000, seconds: 60 },
  platform: { name: 'platform', quota: 10_000_000, seconds: 60 },
  badCredentials: { name: 'bad-credentials', quota: 20, seconds: 60, failsClosed: true },
};

/** The limit on new deliveries of one tenant; `quota` is its plan's deliveries per minute. */
export const deliveryPolicy = (quota: number): RateLimitPolicy => ({ name: 'webhooks', quota, seconds: 60 });

/** One token to take from the bucket that a policy has for a key. */
export type RateLimitCharge = { readonly policy: RateLimitPolicy; readonly key: string };

type Caller = Exclude<Principal, { kind: 'system' }>;

const tenantOf = (caller: Caller): string | null => (caller.kind === 'runner' ? caller.tenant_id : caller.bound_to);

const keyOf = (caller: Caller): string => caller.key_id ?? (caller.kind === 'user' ? caller.user_id : caller.agent_id);

/**
 * What one request of a caller is charged to. A signed-in user is bound to no tenant, and only a super-admin runs the
 * platform.
 */
export const requestCharges = (policies: RateLimitPolicies, caller: Caller): readonly RateLimitCharge[] => {
  const key = keyOf(caller);
  const tenant = tenantOf(caller);
  if (tenant === null && caller.kind === 'user' && caller.super_admin) return [{ policy: policies.platform, key }];
  const own: RateLimitCharge = { policy: policies.credential, key };
  return tenant === null ? [own] : [own, { policy: policies.tenant, key: tenant }];
};

/**
 * What one new delivery is charged to. The key holds the quota: a tenant that changes its plan starts with a full
 * bucket.
 */
export const deliveryCharge = (policy: RateLimitPolicy, tenant_id: string): RateLimitCharge => ({
  policy,
  key: `${policy.quota} ${tenant_id}`,
});
