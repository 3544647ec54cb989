import type { RateLimitPolicy } from '../../domain/access/rate-limit-policy.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createLruMap } from '../lru-map.ts';
import type { QuotaSync } from './shared-quota.ts';
import { createTokenBucket, type TakeResult } from './token-bucket.ts';

const MAX_VALID_CREDENTIALS = 50_000;

const ZEROS = Array<string>(8).fill('0');
const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'));

/** The first 64 bits of an IPv6 address, in one form for all spellings of the address. */
const networkOf = (address: string): string => {
  const [head = '', tail = ''] = address.split('::');
  const [first, last] = [groupsOf(head), groupsOf(tail)];
  const groups = [...first, ...ZEROS.slice(first.length + last.length), ...last];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16))
    .join(':');
};

/** An IPv6 client usually owns a network of 64 bits, so the whole network counts as one client. */
const clientOf = (address: string | null): string => (address?.includes(':') ? networkOf(address) : (address ?? ''));

/** The length of `Bearer `, the prefix and the public id, which identify an API key without revealing it. */
const IDENTIFIER_LENGTH = 19;

/**
 * What identifies a credential without revealing it. All tokens begin alike, so a token is identified by the end of its
 * signature.
 */
const identifierOf = (credential: string): string =>
  credential.includes('.') ? credential.slice(-2 * IDENTIFIER_LENGTH) : credential.slice(0, IDENTIFIER_LENGTH);

const tooManyFailures = (retryAfter: number): Refusal =>
  new Refusal('rate_limited', 'This address sent too many invalid credentials: wait before you try again', { retryAfter });

/**
 * Limits the invalid credentials of each client address. An address beyond the limit is refused before its credential
 * is looked up, unless the credential was valid here before: one careless client does not lock out others behind the
 * same address.
 */
export const createFailedCredentialLimit = (policy: RateLimitPolicy, sync?: QuotaSync) => {
  const bucket = createTokenBucket(policy, { sync });
  const valid = createLruMap<string, true>({ capacity: MAX_VALID_CREDENTIALS / 2 });
  return {
    /** @throws Refusal rate_limited */
    checkAddress: (address: string | null, credential: string | undefined, now: number): void => {
      const { allowed, retry } = bucket.peek(clientOf(address), now);
      if (!allowed && !valid.peek(identifierOf(credential ?? ''))) throw tooManyFailures(retry);
    },
    /** Counts an invalid credential. @returns the refusal to answer with if the address is beyond the limit */
    countFailedCredential: async (address: string | null, now: number): Promise<Refusal | null> => {
      const client = clientOf(address);
      const take = (): TakeResult => bucket.take(client, now);
      const { allowed, retry } = sync ? await sync.decideWhenSettled(() => bucket.isLeaseSpent(client), take) : take();
      return allowed ? null : tooManyFailures(retry);
    },
    rememberValid: (credential: string): void => valid.set(identifierOf(credential), true),
  };
};
