import { crc32 } from 'node:zlib';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORM = /^ann_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}$/;
const CHECKSUM = 6;

/** CRC-32 (IEEE) of the text as six base62 digits, most significant first. */
export const checksum = (text: string): string => {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < CHECKSUM; place++) {
    digits = DIGITS[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
};

/** Builds `ann_` + public id + `_` + secret + checksum from 8 and 32 base62 characters. */
export const buildKey = (publicId: string, secret: string): string => {
  const body = `ann_${publicId}_${secret}`;
  return body + checksum(body);
};

/** The public id of a well-formed key; null where form or checksum is wrong, which costs no look-up. */
export const publicIdOf = (key: string): string | null => {
  const match = FORM.exec(key);
  return match && checksum(key.slice(0, -CHECKSUM)) === key.slice(-CHECKSUM) ? match[1]! : null;
};
