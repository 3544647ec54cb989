import { crc32 } from 'node:zlib';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY_PATTERN = /^ann_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}$/;
const CHECKSUM_LENGTH = 6;

/** The CRC-32 (IEEE) of the text as six base62 digits, the most significant first. */
export const checksum = (text: string): string => {
  let rest = crc32(text);
  let digits = '';
  for (let count = 0; count < CHECKSUM_LENGTH; count++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
};

/**
 * Builds the text of an API key: `ann_<public id>_<secret><checksum>`. `publicId` has 8 base62 characters, `secret` 32.
 */
export const buildKey = (publicId: string, secret: string): string => {
  const body = `ann_${publicId}_${secret}`;
  return body + checksum(body);
};

/**
 * Returns the public id that an API key contains; null if the form or the checksum of the key is wrong. So a mistyped
 * key can be rejected without a look-up.
 */
export const publicIdOf = (key: string): string | null => {
  const match = KEY_PATTERN.exec(key);
  return match && checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH) ? match[1]! : null;
};
