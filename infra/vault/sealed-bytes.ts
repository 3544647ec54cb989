import { createCipheriv, createDecipheriv, type KeyObject, randomFillSync } from 'node:crypto';
import { ALGORITHM, OPTIONS } from './cipher.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = OPTIONS.authTagLength;
/** The number of bytes that encryption adds. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES;

/** Random nonces for many messages at once, which is cheaper than random bytes for each. */
const nonces = Buffer.alloc(NONCE_BYTES * 256);
let used = nonces.length;

const nextNonce = (): Uint8Array => {
  if (used === nonces.length) {
    randomFillSync(nonces);
    used = 0;
  }
  const nonce = nonces.subarray(used, used + NONCE_BYTES);
  used += NONCE_BYTES;
  return nonce;
};

/** Uses AES-256-GCM. Returns the nonce, the ciphertext and the tag; decryption needs the same associated data. */
export const sealBytes = (key: KeyObject, associatedData: Uint8Array, plain: Uint8Array): Buffer => {
  const nonce = nextNonce();
  const cipher = createCipheriv(ALGORITHM, key, nonce, OPTIONS).setAAD(associatedData);
  const ciphertext = cipher.update(plain);
  cipher.final();
  return Buffer.concat([nonce, ciphertext, cipher.getAuthTag()]);
};

/** @throws Error if the bytes were changed, or encrypted with another key or other associated data */
export const openBytes = (key: KeyObject, associatedData: Uint8Array, sealed: Uint8Array): Buffer => {
  if (sealed.length < SEAL_BYTES) throw new Error('sealed bytes are incomplete');
  const tagAt = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), OPTIONS)
    .setAAD(associatedData)
    .setAuthTag(sealed.subarray(tagAt));
  const plain = decipher.update(sealed.subarray(NONCE_BYTES, tagAt));
  decipher.final();
  return plain;
};
