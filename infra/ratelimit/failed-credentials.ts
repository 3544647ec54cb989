import type { RateLimitPolicy } from '../../domain/access/rate-limit-policy.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createLruMap } from '../lru-map.ts';
import type { QuotaSync } from './shared-quota.ts';
import { createTokenBuckets, type TakeResult } from './token-buckets.ts';

const MAX_VALID_CREDENTIALS = 50_000;

const ZEROS = Array<string>(8).fill('0');
const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'));

/** The first 64 bits of an IPv6 address, however it is written. */
const networkOf = (address: string): string => {
  const [head = '', tail = ''] = address.split('::');
  const [first, last] = [groupsOf(head), groupsOf(tail)];
  const groups = [...first, ...ZEROS.slice(first.length + last.length), ...last];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16))
    .join(':');
};

/** An IPv6 client usually has a whole /64 network, so its addresses are counted together. */
export const clientOf = (address: string | null): string => (address?.includes(':') ? networkOf(address) : (address ?? ''));

/** Identifies an API key without revealing it: `Bearer `, the prefix of the key, and its public id. */
const IDENTIFIER_LENGTH = 19;

/** Does not reveal the credential: the start of an API key, or the end of a signed token, as tokens begin alike. */
const identifierOf = (credential: string): string =>
  credential.includes('.') ? credential.slice(-2 * IDENTIFIER_LENGTH) : credential.slice(0, IDENTIFIER_LENGTH);

/**
 * Counts by client IP address. Beyond the limit, requests are refused before their credentials are looked up, except credentials that were
 * valid in this process before: otherwise one careless client would lock out all others with the same address.
 */
export const createFailedCredentialLimit = (
  policy: RateLimitPolicy,
  sync: QuotaSync | undefined,
  onRefused: (policy: RateLimitPolicy) => void,
) => {
  const buckets = createTokenBuckets(policy, { sync });
  const tooManyFailures = (retryAfter: number): Refusal => {
    onRefused(policy);
    return new Refusal('rate_limited', 'This address sent too many invalid credentials: wait before you try again', { retryAfter });
  };
  const valid = createLruMap<string, true>({ capacity: MAX_VALID_CREDENTIALS / 2 });
  return {
    /** Passes credentials that were valid before. @throws Refusal rate_limited */
    checkAddress: (address: string | null, credential: string | undefined, now: number): void => {
      const { allowed, retry } = buckets.peek(clientOf(address), now);
      if (!allowed && !valid.peek(identifierOf(credential ?? ''))) throw tooManyFailures(retry);
    },
    /** Returns the refusal to respond with if the address is now beyond the limit; otherwise null. */
    countFailedCredential: async (address: string | null, now: number): Promise<Refusal | null> => {
      const client = clientOf(address);
      const take = (): TakeResult => buckets.take(client, now);
      const { allowed, retry } = sync ? await sync.decideWhenSettled(() => buckets.isLeaseSpent(client), take) : take();
      return allowed ? null : tooManyFailures(retry);
    },
    rememberValid: (credential: string): void => valid.set(identifierOf(credential), true),
  };
};
