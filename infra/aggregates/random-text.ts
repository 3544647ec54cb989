import { createHmac, randomInt } from 'node:crypto';

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
export const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz';

export const randomText = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

type Derivation = { readonly key: string; readonly label: string; readonly alphabet: string; readonly length: number };

/** Uses HMAC-SHA-256: the same key and label always give the same text, and all characters are equally likely. */
export const derivedText = ({ key, label, alphabet, length }: Derivation): string => {
  const limit = 256 - (256 % alphabet.length);
  let text = '';
  for (let block = 0; text.length < length; block++)
    for (const byte of createHmac('sha256', key).update(`${label}\0${block}`).digest())
      if (byte < limit && text.length < length) text += alphabet[byte % alphabet.length];
  return text;
};
