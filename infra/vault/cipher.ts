import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { SealedText, SecretLocation } from '../../commands/context.ts';

const VERSION = 'v1';
export const ALGORITHM = 'aes-256-gcm';
// Otherwise Node would also accept tags of four bytes, which are easier to forge.
export const OPTIONS = { authTagLength: 16 } as const;
const SEALED_TEXT = /^v1\.([\w-]{1,32})\.([\w-]{16})\.([\w-]*)\.([\w-]{22})$/;

/** Every sealed text contains the `kid` of its key. */
export type NamedKey = { readonly kid: string; readonly key: Uint8Array };

/** Returns `v1.<kid>.<nonce>.<ciphertext>.<tag>`, with base64url parts, which can be decrypted only for the same location. */
export const encrypt = ({ kid, key }: NamedKey, location: SecretLocation, plain: Uint8Array): SealedText => {
  const nonce = randomBytes(12);
  const cipher = createCipheriv(ALGORITHM, key, nonce, OPTIONS).setAAD(associatedData(location));
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return [VERSION, kid, encode(nonce), encode(text), encode(cipher.getAuthTag())].join('.');
};

/** @throws Error if the text was changed, or encrypted with another key or for another location */
export const decrypt = (key: Uint8Array, location: SecretLocation, sealed: SealedText): Buffer => {
  const [, , nonce, text, tag] = partsOf(sealed);
  const decipher = createDecipheriv(ALGORITHM, key, decode(nonce!), OPTIONS).setAAD(associatedData(location)).setAuthTag(decode(tag!));
  return Buffer.concat([decipher.update(decode(text!)), decipher.final()]);
};

/** @throws Error if the text is not encrypted */
export const kidOf = (sealed: SealedText): string => partsOf(sealed)[1]!;

/** Each field is preceded by its length in four bytes, so different lists always give different bytes. */
export const lengthPrefixed = (...fields: readonly string[]): Buffer => {
  // UTF-8 needs at most three bytes for each UTF-16 code unit.
  const bytes = Buffer.allocUnsafe(fields.reduce((size, field) => size + 4 + field.length * 3, 0));
  let end = 0;
  for (const field of fields) {
    const length = bytes.write(field, end + 4);
    bytes.writeUInt32BE(length, end);
    end += 4 + length;
  }
  return bytes.subarray(0, end);
};

const associatedData = ({ tenant, category, id, field }: SecretLocation): Buffer => lengthPrefixed(tenant, category, id, field, VERSION);

const partsOf = (sealed: SealedText): RegExpExecArray => {
  const match = SEALED_TEXT.exec(sealed);
  if (!match) throw new Error('not a sealed secret');
  return match;
};

const encode = (bytes: Buffer): string => bytes.toString('base64url');

// Throws if an unused bit of the last character is set: otherwise, several texts would decrypt to the same secret.
const decode = (text: string): Buffer => {
  const bytes = Buffer.from(text, 'base64url');
  if (encode(bytes) !== text) throw new Error('not a sealed secret');
  return bytes;
};
