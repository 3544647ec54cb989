import { createHmac, randomBytes } from 'node:crypto';
import { lengthPrefixed } from './cipher.ts';

const range = 36n ** 24n;

// 256 bits taken modulo 36^24 leave no character likelier than another by more than 2^-131.
const id25Of = (bytes: Buffer): string => `c${(BigInt(`0x${bytes.toString('hex')}`) % range).toString(36).padStart(24, '0')}`;

/** The id25 of what has a natural key: `c` and 24 base36 characters of HMAC-SHA256(name key, kind, tenant, key, generation). */
export const uniqueId = (nameKey: Uint8Array, kind: string, tenant: string, key: string, generation: number): string =>
  id25Of(
    createHmac('sha256', nameKey)
      .update(lengthPrefixed(kind, tenant, key, String(generation)))
      .digest(),
  );

/** An id25 that nothing names: `c` and 24 random base36 characters. */
export const randomId = (): string => id25Of(randomBytes(32));
