import {
  deliveryCharge,
  deliveryPolicy,
  type LimitedFlow,
  RATE_LIMIT_POLICIES,
  type RateLimitCharge,
  type RateLimitPolicies,
  type RateLimitPolicy,
  requestCharges,
} from '../../domain/access/rate-limit-policy.ts';
import { counted } from '../../domain/counted.ts';
import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createFailedCredentialLimit } from './failed-credentials.ts';
import type { QuotaSync } from './shared-quota.ts';
import { createTokenBuckets, type TakeResult, type TokenBuckets } from './token-buckets.ts';

/** The values of the headers RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-10. */
export type RateLimitHeaders = { readonly policy: string; readonly state: string };
type Report = (headers: RateLimitHeaders) => void;

/** The charges of one request. `policyText` is the value of the RateLimit-Policy header in its response. */
type Charges = { readonly charges: readonly RateLimitCharge[]; readonly policyText: string };
/** Called for every request that a limit refuses, with the policy of that limit. */
export type OnRefused = (policy: RateLimitPolicy) => void;
type Refused = { readonly charge: RateLimitCharge; readonly result: TakeResult };

const policyText = ({ name, quota, seconds }: RateLimitPolicy): string => `"${name}";q=${quota};w=${seconds}`;
const stateText = ({ name }: RateLimitPolicy, { remaining, reset }: TakeResult): string => `"${name}";r=${remaining};t=${reset}`;

const FLOW_NAMES: ReadonlySet<string> = new Set(Object.values(RATE_LIMIT_POLICIES.flows).map(({ name }) => name));

const detailOf = ({ name, quota }: RateLimitPolicy): string => {
  if (name === 'webhooks') return `the plan allows ${counted(quota, 'delivery')} per minute`;
  if (FLOW_NAMES.has(name)) return `a tenant may make ${quota} ${name} per hour: wait before you make more`;
  return `this ${name === 'tenant' ? name : 'credential'} sent too many requests: wait before you send more`;
};

const tooManyRequests = (policy: RateLimitPolicy, retryAfter: number): Refusal =>
  new Refusal('rate_limited', detailOf(policy), { retryAfter });

/** Creates the function that returns the token buckets of a policy. The buckets are created at the first call with the policy. */
const createBucketsByPolicy = (sync: QuotaSync | undefined) => {
  const byPolicy = new Map<RateLimitPolicy, TokenBuckets>();
  return (policy: RateLimitPolicy): TokenBuckets => {
    const known = byPolicy.get(policy);
    if (known) return known;
    const created = createTokenBuckets(policy, { sync });
    byPolicy.set(policy, created);
    return created;
  };
};

/** Refuses a request for which there are not enough tokens. */
const createCharger = (bucketsOf: (policy: RateLimitPolicy) => TokenBuckets, sync: QuotaSync | undefined, onRefused: OnRefused) => {
  /**
   * Takes one token for each charge, in order, until a bucket is empty. Returns the charge of the empty bucket; null if there is none.
   * `report` gets the headers.
   */
  const take = ({ charges, policyText }: Charges, now: number, report: Report): Refused | null => {
    let refused: Refused | null = null;
    let state = '';
    for (const charge of charges) {
      const buckets = bucketsOf(charge.policy);
      const result: TakeResult = refused ? buckets.peek(charge.key, now) : buckets.take(charge.key, now);
      if (!result.allowed) refused ??= { charge, result };
      state += `${state && ', '}${stateText(charge.policy, result)}`;
    }
    report({ policy: policyText, state });
    return refused;
  };

  /** Reads the shared row of the bucket first, if there is one: Retry-After then includes what other processes have taken. */
  const refuseWith = ({ charge: { policy, key }, result }: Refused, now: number): Promise<void> => {
    onRefused(policy);
    if (!sync) throw tooManyRequests(policy, result.retry);
    const buckets = bucketsOf(policy);
    return buckets.refresh(key).then(() => {
      throw tooManyRequests(policy, buckets.peek(key, now).retry);
    });
  };

  return (request: Charges, now: number, report: Report): void | Promise<void> => {
    const hasToWait = (): boolean => request.charges.some(({ policy, key }) => bucketsOf(policy).isLeaseSpent(key));
    if (sync && hasToWait())
      return sync
        .decideWhenSettled(hasToWait, () => take(request, now, report))
        .then((refused) => (refused ? refuseWith(refused, now) : undefined));
    const refused = take(request, now, report);
    if (refused) return refuseWith(refused, now);
  };
};

/**
 * Limits requests by credential and tenant, deliveries by the tenant's plan, invalid credentials by IP address. With `sync`, processes
 * share their counts; each can let through at most one lease of requests before the others know (see `leaseOf`).
 */
export const createRateLimiter = (policies: RateLimitPolicies = RATE_LIMIT_POLICIES, sync?: QuotaSync, onRefused: OnRefused = () => {}) => {
  const charge = createCharger(createBucketsByPolicy(sync), sync, onRefused);
  const { checkAddress, countFailedCredential, rememberValid } = createFailedCredentialLimit(policies.badCredentials, sync, onRefused);
  const credentialText = policyText(policies.credential);
  const tenantText = `${credentialText}, ${policyText(policies.tenant)}`;
  const platformText = policyText(policies.platform);
  const byQuota = new Map<number, { readonly policy: RateLimitPolicy; readonly policyText: string }>();

  const policyTextOf = (charges: readonly RateLimitCharge[]): string => {
    if (charges.length > 1) return tenantText;
    return charges[0]!.policy === policies.platform ? platformText : credentialText;
  };

  const policyOfQuota = (quota: number) => {
    const known = byQuota.get(quota);
    if (known) return known;
    const policy = deliveryPolicy(quota);
    const created = { policy, policyText: policyText(policy) };
    byQuota.set(quota, created);
    return created;
  };

  return {
    checkAddress,
    countFailedCredential,
    /**
     * `report` gets the rate limit headers. Returns a promise only if the request must wait for the shared counts.
     * @throws Refusal rate_limited
     */
    chargeRequest: (principal: Principal, credential: string, now: number, report: Report): void | Promise<void> => {
      if (principal.kind === 'system') return;
      rememberValid(credential);
      const charges = requestCharges(policies, principal);
      return charge({ charges, policyText: policyTextOf(charges) }, now, report);
    },
    /** `quota` is in deliveries per minute, by the tenant's plan. @throws Refusal rate_limited */
    chargeDelivery: (tenant_id: string, quota: number, now: number, report: Report): void | Promise<void> => {
      const { policy, policyText } = policyOfQuota(quota);
      return charge({ charges: [deliveryCharge(policy, tenant_id)], policyText }, now, report);
    },
    /** Charges requests with their own limit per tenant. The audit log shows these refusals. @throws Refusal rate_limited */
    chargeFlow: async (tenant_id: string, flow: LimitedFlow, now: number): Promise<void> => {
      const policy = policies.flows[flow];
      try {
        await charge({ charges: [{ policy, key: tenant_id }], policyText: policyText(policy) }, now, () => {});
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        throw new Refusal(error.code, error.message, { ...error.extra, recordedIn: tenant_id });
      }
    },
  };
};

export type RateLimiter = ReturnType<typeof createRateLimiter>;
