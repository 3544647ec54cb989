import { createHmac } from 'node:crypto';
import { lengthPrefixed } from './cipher.ts';

const range = 36n ** 24n;

/**
 * The id25 of what has a natural key: `c` and 24 base36 characters of HMAC-SHA256(name key, kind, tenant, key, generation). 256 bits taken
 * modulo 36^24 leave no character likelier than another by more than 2^-131.
 */
export const naturalId = (nameKey: Uint8Array, kind: string, tenant: string, key: string, generation: number): string => {
  const mac = createHmac('sha256', nameKey)
    .update(lengthPrefixed(kind, tenant, key, String(generation)))
    .digest('hex');
  return `c${(BigInt(`0x${mac}`) % range).toString(36).padStart(24, '0')}`;
};
