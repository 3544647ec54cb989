import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { SealedText, SecretLocation } from '../../commands/context.ts';

const VERSION = 'v1';
const algorithm = 'aes-256-gcm';
// Without it Node takes a tag of four bytes for a whole one.
const options = { authTagLength: 16 } as const;
const shape = /^v1\.([\w-]{1,32})\.([\w-]{16})\.([\w-]*)\.([\w-]{22})$/;

/** A key and the name by which sealed texts refer to it. */
export type NamedKey = { readonly kid: string; readonly key: Uint8Array };

/** Encrypts into `v1.<kid>.<nonce>.<ciphertext>.<tag>`, the parts in base64url, bound to the place. */
export const encrypt = ({ kid, key }: NamedKey, place: SecretLocation, plain: Uint8Array): SealedText => {
  const nonce = randomBytes(12);
  const cipher = createCipheriv(algorithm, key, nonce, options).setAAD(boundTo(place));
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return [VERSION, kid, encode(nonce), encode(text), encode(cipher.getAuthTag())].join('.');
};

/** Decrypts what `encrypt` made for this place. @throws Error where the text, the key or the place is another one */
export const decrypt = (key: Uint8Array, place: SecretLocation, sealed: SealedText): Buffer => {
  const [, , nonce, text, tag] = parts(sealed);
  const decipher = createDecipheriv(algorithm, key, decode(nonce!), options).setAAD(boundTo(place)).setAuthTag(decode(tag!));
  return Buffer.concat([decipher.update(decode(text!)), decipher.final()]);
};

/** The name of the key that a sealed text needs. @throws Error where it is no sealed text */
export const kidOf = (sealed: SealedText): string => parts(sealed)[1]!;

/** Fields one behind the other, each under its length in four bytes, so that no two lists give the same bytes. */
export const lengthPrefixed = (...fields: readonly string[]): Buffer => {
  // UTF-8 takes three bytes for a UTF-16 unit at most.
  const bytes = Buffer.allocUnsafe(fields.reduce((size, field) => size + 4 + field.length * 3, 0));
  let end = 0;
  for (const field of fields) {
    const length = bytes.write(field, end + 4);
    bytes.writeUInt32BE(length, end);
    end += 4 + length;
  }
  return bytes.subarray(0, end);
};

const boundTo = ({ tenant, category, id, field }: SecretLocation): Buffer => lengthPrefixed(tenant, category, id, field, VERSION);

const parts = (sealed: SealedText): RegExpExecArray => {
  const match = shape.exec(sealed);
  if (!match) throw new Error('not a sealed secret');
  return match;
};

const encode = (bytes: Buffer): string => bytes.toString('base64url');

// The last character of a part may hold bits that no byte takes: two texts would be one secret.
const decode = (text: string): Buffer => {
  const bytes = Buffer.from(text, 'base64url');
  if (encode(bytes) !== text) throw new Error('not a sealed secret');
  return bytes;
};
