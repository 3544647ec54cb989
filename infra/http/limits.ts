import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Bucket, bucket, type Policy, type Taken } from './bucket.ts';
import type { Sharing } from './sharing.ts';

/** What one API key or runner key may ask: far above what a machine answers, so that it stops only what has run away. */
export const CREDENTIAL: Policy = { name: 'credential', quota: 1_000_000, seconds: 60 };
/** What all keys of a tenant may ask together. */
export const TENANT: Policy = { name: 'tenant', quota: 5_000_000, seconds: 60 };
/** What a platform key may ask: its bearer runs the platform, and is only kept from running away. */
export const PLATFORM_KEY: Policy = { name: 'platform', quota: 10_000_000, seconds: 60 };
/** How many credentials that are none may come from one address. */
export const BAD_CREDENTIALS: Policy = { name: 'bad-credentials', quota: 20, seconds: 60, failsClosed: true };

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

/** One bucket that a request draws from. */
type Draw = { readonly from: Bucket; readonly policy: Policy; readonly key: string };

const tenantOf = (principal: Principal): string | null =>
  principal.kind === 'runner' ? principal.tenant_id : principal.kind === 'user' ? principal.bound_to : null;

const ownerOf = (principal: Exclude<Principal, { kind: 'system' }>): string =>
  principal.key_id ?? (principal.kind === 'user' ? principal.user_id : principal.agent_id);

const guessing = (retry: number): Refusal => limited(retry, 'too many credentials from this address were none');

/**
 * Limits requests by credential and tenant, and guesses by client address. With `shared`, processes count together: each lets through
 * at most one lease that the others have not heard of; else each counts what it serves.
 * An address that guessed too often gets nothing looked up any more, but for keys that were good here before, so that one careless
 * neighbour behind the same address shuts nobody out.
 */
export const limiter = ({ credential: each, tenant, platform, bad }: Policies = POLICIES, shared?: Sharing) => {
  const [byCredential, byTenant, byPlatformKey, guesses] = [each, tenant, platform, bad].map((one) => bucket(one, undefined, shared)) as [
    Bucket,
    Bucket,
    Bucket,
    Bucket,
  ];
  const bothPolicies = `${policyText(each)}, ${policyText(tenant)}`;
  const platformPolicy = policyText(platform);
  let known = new Set<string>();

  const drawsOf = (key: string, home: string | null): readonly Draw[] =>
    home === null
      ? [{ from: byPlatformKey, policy: platform, key }]
      : [
          { from: byCredential, policy: each, key },
          { from: byTenant, policy: tenant, key: home },
        ];

  /** Takes from one bucket after the other; where one is empty, the rest are only looked at. @returns what was refused */
  const draw = (draws: readonly Draw[], now: number, tell: (told: Told) => void): { draw: Draw; taken: Taken } | null => {
    let refused: { draw: Draw; taken: Taken } | null = null;
    let state = '';
    for (const one of draws) {
      const taken: Taken = refused ? one.from.look(one.key, now) : one.from.take(one.key, now);
      if (!taken.allowed) refused ??= { draw: one, taken };
      state += `${state && ', '}${stateText(one.policy, taken)}`;
    }
    tell({ policy: draws.length === 1 ? platformPolicy : bothPolicies, state });
    return refused;
  };

  const refusal = ({ policy }: Draw, { retry }: Taken): Refusal =>
    limited(retry, `this ${policy === tenant ? 'tenant' : 'credential'} asks too often`);

  return {
    /** @throws Refusal rate_limited where too many credentials that are none came from there */
    admit: (address: string | null, credential: string | undefined, now: number): void => {
      const { allowed, retry } = guesses.look(clientOf(address), now);
      if (!allowed && !known.has(nameOf(credential ?? ''))) throw guessing(retry);
    },
    /** A credential that is none came from an address. @returns the refusal to answer with where it was one too many */
    guessed: async (address: string | null, now: number): Promise<Refusal | null> => {
      const client = clientOf(address);
      const take = (): Taken => guesses.take(client, now);
      const { allowed, retry } = shared ? await shared.whenSettled(() => guesses.waits(client), take) : take();
      return allowed ? null : guessing(retry);
    },
    /**
     * A request under a good credential; a promise only where it has to wait for the other processes' count. `tell` hears what the
     * answer's headers say. @throws Refusal rate_limited
     */
    count: (principal: Principal, credential: string, now: number, tell: (told: Told) => void): void | Promise<void> => {
      if (principal.kind === 'system') return;
      if (known.size >= MOST_KNOWN) known = new Set();
      known.add(nameOf(credential));
      const draws = drawsOf(ownerOf(principal), tenantOf(principal));
      const waits = (): boolean => draws.some(({ from, key }) => from.waits(key));
      const decided = (refused: ReturnType<typeof draw>): void | Promise<void> => {
        if (!refused) return;
        const { draw: one, taken } = refused;
        if (!shared) throw refusal(one, taken);
        return one.from.refresh(one.key).then(() => {
          throw refusal(one, one.from.look(one.key, now));
        });
      };
      if (shared && waits()) return shared.whenSettled(waits, () => draw(draws, now, tell)).then(decided);
      return decided(draw(draws, now, tell));
    },
  };
};

export type Limiter = ReturnType<typeof limiter>;
