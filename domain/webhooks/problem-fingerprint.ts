import { createHash } from 'node:crypto';

const FINGERPRINT_LENGTH = 16;

/** Returns a short text that is the same for all deliveries with these properties, and for no others. */
export const problemFingerprint = (...properties: readonly (string | null)[]): string =>
  createHash('sha256').update(JSON.stringify(properties)).digest('hex').slice(0, FINGERPRINT_LENGTH);
