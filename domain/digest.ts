import { timingSafeEqual } from 'node:crypto';

/**
 * A placeholder digest. If no digest is stored, the caller compares with this one, so that the response time does not
 * reveal that none is stored.
 */
export const NO_DIGEST = '0'.repeat(64);

/** Compares two digests of 64 hex digits each, in constant time. */
export const isSameDigest = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'));
