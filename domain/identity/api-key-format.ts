import { BASE62, hasChecksum, withChecksum } from '../checksum.ts';

const KEY_PATTERN = /^ann_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}$/;

/** `ann_<public id>_<secret><checksum>`; `publicId` has 8 base62 characters, `secret` 32. */
export const buildKey = (publicId: string, secret: string): string => withChecksum(`ann_${publicId}_${secret}`);

/** Derives the key from a digest of 64 hex digits: a repeat of a request after a crash creates no second key. */
export const keyFromDigest = (digest: string): string => {
  let rest = BigInt(`0x${digest}`);
  let digits = '';
  for (; digits.length < 40; rest /= 62n) digits += BASE62[Number(rest % 62n)];
  return buildKey(digits.slice(0, 8), digits.slice(8));
};

/** Whether a text has the form of an API key, whatever its checksum is. */
export const hasKeyForm = (text: string): boolean => KEY_PATTERN.test(text);

/** Null if the form or the checksum is wrong: a key with a typing error is refused without a look-up. */
export const publicIdOf = (key: string): string | null => {
  const match = KEY_PATTERN.exec(key);
  return match && hasChecksum(key) ? match[1]! : null;
};
