import { timingSafeEqual } from 'node:crypto';

/** A digest to compare with if there is no stored one, so that the comparison takes the same time. */
export const NO_DIGEST = '0'.repeat(64);

/** Compares two digests of 64 hex digits in constant time. */
export const isSameDigest = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'));
