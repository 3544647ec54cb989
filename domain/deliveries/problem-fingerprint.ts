import { createHash } from 'node:crypto';

const FINGERPRINT_LENGTH = 16;

/** The same text if, and only if, all of these properties are the same. */
export const problemFingerprint = (...properties: readonly (string | null)[]): string =>
  createHash('sha256').update(JSON.stringify(properties)).digest('hex').slice(0, FINGERPRINT_LENGTH);
