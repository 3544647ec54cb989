import { BASE62, hasChecksum, withChecksum } from '../checksum.ts';

const KEY_PATTERN = /^ann_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}$/;

/**
 * Builds the text of an API key: `ann_<public id>_<secret><checksum>`. `publicId` has 8 base62 characters, `secret` 32.
 */
export const buildKey = (publicId: string, secret: string): string => withChecksum(`ann_${publicId}_${secret}`);

/**
 * Builds the text of an API key from a digest of 64 hex digits. The same digest always gives the same API key, so
 * repeating a request after a crash creates no second key.
 */
export const keyFromDigest = (digest: string): string => {
  let rest = BigInt(`0x${digest}`);
  let digits = '';
  for (; digits.length < 40; rest /= 62n) digits += BASE62[Number(rest % 62n)];
  return buildKey(digits.slice(0, 8), digits.slice(8));
};

/** Returns whether a text has the form of an API key, whatever its check digits are. */
export const hasKeyForm = (text: string): boolean => KEY_PATTERN.test(text);

/**
 * Returns the public id that an API key contains; null if the form or the checksum of the key is wrong. So a key with a
 * typing error is refused without a look-up.
 */
export const publicIdOf = (key: string): string | null => {
  const match = KEY_PATTERN.exec(key);
  return match && hasChecksum(key) ? match[1]! : null;
};
