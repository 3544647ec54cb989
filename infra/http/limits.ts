import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';

/** So many requests in any stretch of so many seconds, evenly refilled. */
export type Policy = { readonly name: string; readonly quota: number; readonly seconds: number };

/** What one API key or runner key may ask: far above what a machine answers, so that it stops only what has run away. */
export const CREDENTIAL: Policy = { name: 'credential', quota: 1_000_000, seconds: 60 };
/** What all keys of a tenant may ask together. */
export const TENANT: Policy = { name: 'tenant', quota: 5_000_000, seconds: 60 };
/** What a platform key may ask: its bearer runs the platform, and is only kept from running away. */
export const PLATFORM_KEY: Policy = { name: 'platform', quota: 10_000_000, seconds: 60 };
/** How many credentials that are none may come from one address. */
export const BAD_CREDENTIALS: Policy = { name: 'bad-credentials', quota: 20, seconds: 60 };

/** `reset` and `retry` are seconds: until all of the quota is there again, and until one more request is. */
export type Taken = { readonly allowed: boolean; readonly remaining: number; readonly reset: number; readonly retry: number };

const CAPACITY = 50_000;

/**
 * A token bucket for each key, kept as the one time at which it will be full again. Two generations bound the memory; what falls out has
 * been idle the longest.
 */
export const bucket = ({ quota, seconds }: Policy, capacity = CAPACITY) => {
  const window = seconds * 1_000;
  const each = window / quota;
  let young = new Map<string, number>();
  let old = new Map<string, number>();

  /** When the key's bucket is full; a clock that was set back must not close it for longer than a window. */
  const fullAt = (key: string, now: number): number => Math.max(now, Math.min(young.get(key) ?? old.get(key) ?? now, now + window));

  const keep = (key: string, at: number): void => {
    young.set(key, at);
    if (young.size <= capacity) return;
    old = young;
    young = new Map();
  };

  const told = (at: number, now: number, allowed: boolean): Taken => ({
    allowed,
    remaining: Math.max(0, Math.floor((window - (at - now)) / each + 1e-6)),
    reset: Math.ceil((at - now) / 1_000),
    retry: Math.max(0, (at + each - window - now) / 1_000),
  });

  return {
    /** How it stands, taking nothing: whether one more would be let through. */
    look: (key: string, now: number): Taken => {
      const at = fullAt(key, now);
      return told(at, now, at + each - now <= window + 1e-6);
    },
    take: (key: string, now: number): Taken => {
      const at = fullAt(key, now);
      const next = at + each;
      const allowed = next - now <= window + 1e-6;
      keep(key, allowed ? next : at);
      return told(allowed ? next : at, now, allowed);
    },
  };
};

export type Policies = { readonly credential: Policy; readonly tenant: Policy; readonly platform: Policy; readonly bad: Policy };

export const POLICIES: Policies = { credential: CREDENTIAL, tenant: TENANT, platform: PLATFORM_KEY, bad: BAD_CREDENTIALS };

/** The header fields RateLimit-Policy and RateLimit, as of draft-ietf-httpapi-ratelimit-headers-10. */
export type Told = { readonly policy: string; readonly state: string };

const policyText = ({ name, quota, seconds }: Policy): string => `"${name}";q=${quota};w=${seconds}`;
const stateText = ({ name }: Policy, { remaining, reset }: Taken): string => `"${name}";r=${remaining};t=${reset}`;

const limited = (retryAfter: number, detail: string): Refusal => new Refusal('rate_limited', detail, { retryAfter });

/** An IPv6 client has a network of 64 bits to itself: it counts as one address. */
const clientOf = (address: string | null): string => (address?.includes(':') ? address.split(':').slice(0, 4).join(':') : (address ?? ''));

/** `Bearer `, the prefix and the public id: what names a key without being one. */
const NAMING = 19;
/** Tokens all begin alike; the end of one is its signature's. */
const nameOf = (credential: string): string => (credential.includes('.') ? credential.slice(-2 * NAMING) : credential.slice(0, NAMING));
const MOST_KNOWN = 50_000;

/**
 * Limits requests by credential and tenant, and guesses by client address. In process: each API process counts what it serves.
 * An address that guessed too often gets nothing looked up any more, but for keys that were good here before, so that one careless
 * neighbour behind the same address shuts nobody out.
 */
export const limiter = ({ credential: each, tenant, platform, bad }: Policies = POLICIES) => {
  const byCredential = bucket(each);
  const byTenant = bucket(tenant);
  const byPlatformKey = bucket(platform);
  const guesses = bucket(bad);
  const bothPolicies = `${policyText(each)}, ${policyText(tenant)}`;
  const platformPolicy = policyText(platform);
  let known = new Set<string>();

  const tenantOf = (principal: Principal): string | null =>
    principal.kind === 'runner' ? principal.tenant_id : principal.kind === 'user' ? principal.bound_to : null;

  return {
    /** @throws Refusal rate_limited where too many credentials that are none came from there */
    admit: (address: string | null, credential: string | undefined, now: number): void => {
      const { allowed, retry } = guesses.look(clientOf(address), now);
      if (!allowed && !known.has(nameOf(credential ?? ''))) throw limited(retry, 'too many credentials from this address were none');
    },
    /** A credential that is none came from an address. @returns the refusal to answer with where it was one too many */
    guessed: (address: string | null, now: number): Refusal | null => {
      const { allowed, retry } = guesses.take(clientOf(address), now);
      return allowed ? null : limited(retry, 'too many credentials from this address were none');
    },
    /** A request under a good credential. `tell` hears what the answer's headers say. @throws Refusal rate_limited */
    count: (principal: Principal, credential: string, now: number, tell: (told: Told) => void): void => {
      if (principal.kind === 'system') return;
      if (known.size >= MOST_KNOWN) known = new Set();
      known.add(nameOf(credential));
      const home = tenantOf(principal);
      const key = principal.key_id ?? (principal.kind === 'user' ? principal.user_id : principal.agent_id);
      if (home === null) {
        const taken = byPlatformKey.take(key, now);
        tell({ policy: platformPolicy, state: stateText(platform, taken) });
        if (!taken.allowed) throw limited(taken.retry, 'this credential asks too often');
        return;
      }
      const own = byCredential.take(key, now);
      const shared = own.allowed ? byTenant.take(home, now) : byTenant.look(home, now);
      tell({ policy: bothPolicies, state: `${stateText(each, own)}, ${stateText(tenant, shared)}` });
      if (!own.allowed) throw limited(own.retry, 'this credential asks too often');
      if (!shared.allowed) throw limited(shared.retry, 'this tenant asks too often');
    },
  };
};

export type Limiter = ReturnType<typeof limiter>;
