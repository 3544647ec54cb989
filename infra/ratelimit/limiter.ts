import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createLruMap } from '../lru-map.ts';
import type { QuotaSync } from './shared-quota.ts';
import { createTokenBucket, type Policy, type TakeResult, type TokenBucket } from './token-bucket.ts';

/** What one API key or runner key may ask, or somebody who signed in: far above what a machine answers, so that it stops only what has run away. */
export const CREDENTIAL: Policy = { name: 'credential', quota: 1_000_000, seconds: 60 };
/** What all keys of a tenant may ask together. */
export const TENANT: Policy = { name: 'tenant', quota: 5_000_000, seconds: 60 };
/** What a platform key may ask: its bearer runs the platform, and is only kept from running away. */
export const PLATFORM_KEY: Policy = { name: 'platform', quota: 10_000_000, seconds: 60 };
/** How many credentials that are none may come from one address. */
export const BAD_CREDENTIALS: Policy = { name: 'bad-credentials', quota: 20, seconds: 60, failsClosed: true };

/** What the hooks of a tenant may take by its plan; where processes can't count together, each lets its own count through. */
const deliveriesOf = (quota: number): Policy => ({ name: 'webhooks', quota, seconds: 60 });

export type Policies = { readonly credential: Policy; readonly tenant: Policy; readonly platform: Policy; readonly bad: Policy };

export const POLICIES: Policies = { credential: CREDENTIAL, tenant: TENANT, platform: PLATFORM_KEY, bad: BAD_CREDENTIALS };

/** The header fields RateLimit-Policy and RateLimit, as of draft-ietf-httpapi-ratelimit-headers-10. */
export type RateLimitHeaders = { readonly policy: string; readonly state: string };
type Tell = (told: RateLimitHeaders) => void;

const policyText = ({ name, quota, seconds }: Policy): string => `"${name}";q=${quota};w=${seconds}`;
const stateText = ({ name }: Policy, { remaining, reset }: TakeResult): string => `"${name}";r=${remaining};t=${reset}`;

const limited = (retryAfter: number, detail: string): Refusal => new Refusal('rate_limited', detail, { retryAfter });

const ZEROS = Array<string>(8).fill('0');
const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'));

/** The first 64 bits of an IPv6 address, the same however it is written. */
const networkOf = (address: string): string => {
  const [head = '', tail = ''] = address.split('::');
  const [first, last] = [groupsOf(head), groupsOf(tail)];
  const groups = [...first, ...ZEROS.slice(first.length + last.length), ...last];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16))
    .join(':');
};

/** An IPv6 client has a network of 64 bits to itself: it counts as one address. */
const clientOf = (address: string | null): string => (address?.includes(':') ? networkOf(address) : (address ?? ''));

/** `Bearer `, the prefix and the public id: what names a key without being one. */
const NAMING = 19;
/** Tokens all begin alike; the end of one is its signature's. */
const nameOf = (credential: string): string => (credential.includes('.') ? credential.slice(-2 * NAMING) : credential.slice(0, NAMING));
const MAX_BUCKETS = 50_000;

/** One bucket that a request draws from. */
type Draw = { readonly from: TokenBucket; readonly policy: Policy; readonly key: string };

const tenantOf = (principal: Principal): string | null =>
  principal.kind === 'runner' ? principal.tenant_id : principal.kind === 'user' ? principal.bound_to : null;

type Caller = Exclude<Principal, { kind: 'system' }>;

const ownerOf = (principal: Caller): string => principal.key_id ?? (principal.kind === 'user' ? principal.user_id : principal.agent_id);

const reasonOf = ({ name, quota }: Policy): string =>
  name === 'webhooks' ? `the plan allows ${quota} deliveries a minute` : `this ${name === 'tenant' ? name : 'credential'} asks too often`;

const guessing = (retry: number): Refusal => limited(retry, 'too many credentials from this address were none');

/**
 * Limits requests by credential and tenant, deliveries by the tenant's plan, and guesses by client address. With `shared`, processes count together: each lets through
 * at most one lease that the others have not heard of; else each counts what it serves.
 * An address that guessed too often gets nothing looked up any more, but for keys that were good here before, so that one careless
 * neighbour behind the same address shuts nobody out.
 */
export const createRateLimiter = ({ credential: each, tenant, platform, bad }: Policies = POLICIES, shared?: QuotaSync) => {
  const [byCredential, byTenant, byPlatformKey, guesses] = [each, tenant, platform, bad].map((one) =>
    createTokenBucket(one, undefined, shared),
  ) as [TokenBucket, TokenBucket, TokenBucket, TokenBucket];
  const credentialPolicy = policyText(each);
  const bothPolicies = `${credentialPolicy}, ${policyText(tenant)}`;
  const platformPolicy = policyText(platform);
  const byPlan = new Map<number, { readonly from: TokenBucket; readonly policy: Policy; readonly text: string }>();
  const known = createLruMap<string, true>({ capacity: MAX_BUCKETS / 2 });

  const planned = (quota: number) => {
    const found = byPlan.get(quota);
    if (found) return found;
    const policy = deliveriesOf(quota);
    const made = { from: createTokenBucket(policy, undefined, shared), policy, text: policyText(policy) };
    byPlan.set(quota, made);
    return made;
  };

  /** Who signed in is bound to no tenant, and yet does not run the platform. */
  const drawsOf = (principal: Caller): readonly Draw[] => {
    const [key, home] = [ownerOf(principal), tenantOf(principal)];
    if (home === null && principal.kind === 'user' && principal.super_admin) return [{ from: byPlatformKey, policy: platform, key }];
    const own: Draw = { from: byCredential, policy: each, key };
    return home === null ? [own] : [own, { from: byTenant, policy: tenant, key: home }];
  };

  const policiesOf = (draws: readonly Draw[]): string =>
    draws.length > 1 ? bothPolicies : draws[0]!.policy === platform ? platformPolicy : credentialPolicy;

  /** Takes from one bucket after the other; where one is empty, the rest are only looked at. @returns what was refused */
  const draw = (draws: readonly Draw[], policy: string, now: number, tell: Tell): { draw: Draw; taken: TakeResult } | null => {
    let refused: { draw: Draw; taken: TakeResult } | null = null;
    let state = '';
    for (const one of draws) {
      const taken: TakeResult = refused ? one.from.look(one.key, now) : one.from.take(one.key, now);
      if (!taken.allowed) refused ??= { draw: one, taken };
      state += `${state && ', '}${stateText(one.policy, taken)}`;
    }
    tell({ policy, state });
    return refused;
  };

  /** Takes one from each; a promise only where it has to wait for the other processes' count. @throws Refusal rate_limited */
  const spend = (draws: readonly Draw[], policy: string, now: number, tell: Tell): void | Promise<void> => {
    const waits = (): boolean => draws.some(({ from, key }) => from.waits(key));
    const decided = (refused: ReturnType<typeof draw>): void | Promise<void> => {
      if (!refused) return;
      const { draw: one, taken } = refused;
      if (!shared) throw limited(taken.retry, reasonOf(one.policy));
      return one.from.refresh(one.key).then(() => {
        throw limited(one.from.look(one.key, now).retry, reasonOf(one.policy));
      });
    };
    if (shared && waits()) return shared.whenSettled(waits, () => draw(draws, policy, now, tell)).then(decided);
    return decided(draw(draws, policy, now, tell));
  };

  return {
    /** @throws Refusal rate_limited where too many credentials that are none came from there */
    checkAddress: (address: string | null, credential: string | undefined, now: number): void => {
      const { allowed, retry } = guesses.look(clientOf(address), now);
      if (!allowed && !known.peek(nameOf(credential ?? ''))) throw guessing(retry);
    },
    /** A credential that is none came from an address. @returns the refusal to answer with where it was one too many */
    countFailedCredential: async (address: string | null, now: number): Promise<Refusal | null> => {
      const client = clientOf(address);
      const take = (): TakeResult => guesses.take(client, now);
      const { allowed, retry } = shared ? await shared.whenSettled(() => guesses.waits(client), take) : take();
      return allowed ? null : guessing(retry);
    },
    /**
     * A request under a good credential; a promise only where it has to wait for the other processes' count. `tell` hears what the
     * answer's headers say. @throws Refusal rate_limited
     */
    countRequest: (principal: Principal, credential: string, now: number, tell: Tell): void | Promise<void> => {
      if (principal.kind === 'system') return;
      known.set(nameOf(credential), true);
      const draws = drawsOf(principal);
      return spend(draws, policiesOf(draws), now, tell);
    },
    /** A new delivery for a tenant whose plan allows `quota` a minute; of another quota all is there at once. @throws Refusal rate_limited */
    countDelivery: (tenant_id: string, quota: number, now: number, tell: Tell): void | Promise<void> => {
      const { from, policy, text } = planned(quota);
      return spend([{ from, policy, key: `${quota} ${tenant_id}` }], text, now, tell);
    },
  };
};

export type RateLimiter = ReturnType<typeof createRateLimiter>;
