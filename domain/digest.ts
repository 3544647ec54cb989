import { createHash, hash, timingSafeEqual } from 'node:crypto';

/** Compared in place of a missing digest, such as that of an unknown API key, so that the response time does not reveal that it is missing. */
export const NO_DIGEST = '0'.repeat(64);

/** Compares digests of 64 hex digits in constant time. */
export const isSameDigest = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'));

/** Lower-case hex. */
export const sha256Of = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

/** The result is in lower-case hex. */
export const sha256Counter = () => {
  const digest = createHash('sha256');
  return { add: (bytes: Uint8Array): unknown => digest.update(bytes), result: (): string => digest.digest('hex') };
};
