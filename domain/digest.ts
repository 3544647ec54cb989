import { timingSafeEqual } from 'node:crypto';

/** What is compared with where nothing is there, so that it takes as long. */
export const NO_DIGEST = '0'.repeat(64);

/** Compares two digests of 64 hex digits in constant time. */
export const isSameDigest = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'));
