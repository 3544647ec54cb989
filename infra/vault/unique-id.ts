import { createHmac, randomBytes } from 'node:crypto';
import { lengthPrefixed } from './cipher.ts';

const ID_COUNT = 36n ** 24n;

// 2^256 is much larger than 36^24, so all characters are almost equally likely, within 2^-131.
const id25Of = (bytes: Buffer): string => `c${(BigInt(`0x${bytes.toString('hex')}`) % ID_COUNT).toString(36).padStart(24, '0')}`;

/** An id (id25) is `c` and 24 base36 characters of an HMAC-SHA-256 of the unique key with the name key. */
export const createUniqueIds =
  (nameKey: Uint8Array) =>
  (kind: string, tenant: string, key: string, generation: number): string =>
    id25Of(
      createHmac('sha256', nameKey)
        .update(lengthPrefixed(kind, tenant, key, String(generation)))
        .digest(),
    );

/** An id25: `c` and 24 random base36 characters. */
export const randomId = (): string => id25Of(randomBytes(32));
