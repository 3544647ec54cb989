import { timingSafeEqual } from 'node:crypto';

/**
 * A placeholder digest. If there is no stored digest, the caller compares with this one, so that the time does not
 * reveal it.
 */
export const NO_DIGEST = '0'.repeat(64);

/** Compares two digests of 64 hex digits each, in constant time. */
export const isSameDigest = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'));
