import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Sealed, SecretPlace } from '../../commands/context.ts';

const VERSION = 'v1';
const algorithm = 'aes-256-gcm';
// Without it Node takes a tag of four bytes for a whole one.
const options = { authTagLength: 16 } as const;
const shape = /^v1\.([\w-]{1,32})\.([\w-]{16})\.([\w-]*)\.([\w-]{22})$/;

/** A key and the name by which sealed texts refer to it. */
export type NamedKey = { readonly kid: string; readonly key: Uint8Array };

/** Encrypts into `v1.<kid>.<nonce>.<ciphertext>.<tag>`, the parts in base64url, bound to the place. */
export const encrypt = ({ kid, key }: NamedKey, place: SecretPlace, plain: Uint8Array): Sealed => {
  const nonce = randomBytes(12);
  const cipher = createCipheriv(algorithm, key, nonce, options).setAAD(boundTo(place));
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return [VERSION, kid, encode(nonce), encode(text), encode(cipher.getAuthTag())].join('.');
};

/** Decrypts what `encrypt` made for this place. @throws Error where the text, the key or the place is another one */
export const decrypt = (key: Uint8Array, place: SecretPlace, sealed: Sealed): Buffer => {
  const [, , nonce, text, tag] = parts(sealed);
  const decipher = createDecipheriv(algorithm, key, decode(nonce!), options).setAAD(boundTo(place)).setAuthTag(decode(tag!));
  return Buffer.concat([decipher.update(decode(text!)), decipher.final()]);
};

/** The name of the key that a sealed text needs. @throws Error where it is no sealed text */
export const kidOf = (sealed: Sealed): string => parts(sealed)[1]!;

/** Fields one behind the other, each under its length, so that no two lists give the same bytes. */
export const lengthPrefixed = (...fields: readonly string[]): Buffer =>
  Buffer.concat(fields.flatMap((field) => prefixed(Buffer.from(field))));

const boundTo = ({ tenant, category, id, field }: SecretPlace): Buffer => lengthPrefixed(tenant, category, id, field, VERSION);

const prefixed = (bytes: Buffer): Buffer[] => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return [length, bytes];
};

const parts = (sealed: Sealed): RegExpExecArray => {
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
