import { createHash, hash, timingSafeEqual } from 'node:crypto';

/**
 * A digest that takes the place of a digest that does not exist, such as that of an unknown API key. The comparison
 * with it takes the same time as with a real one, so the response time does not reveal that the API key is unknown.
 */
export const NO_DIGEST = '0'.repeat(64);

/** Compares two digests of 64 hex digits each, in constant time. */
export const isSameDigest = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'));

/** Returns the SHA-256 of bytes, in lower-case hex. */
export const sha256Of = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

/** Returns a function that adds bytes to a SHA-256, and one that returns the result in lower-case hex. */
export const sha256Counter = () => {
  const digest = createHash('sha256');
  return { add: (bytes: Uint8Array): unknown => digest.update(bytes), result: (): string => digest.digest('hex') };
};
