import { crc32 } from 'node:zlib';

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const LENGTH = 6;

/** CRC-32 (IEEE) as six base62 digits, the most significant first. */
export const checksum = (text: string): string => {
  let rest = crc32(text);
  let digits = '';
  for (let count = 0; count < LENGTH; count++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
};

export const withChecksum = (text: string): string => text + checksum(text);

export const hasChecksum = (text: string): boolean => checksum(text.slice(0, -LENGTH)) === text.slice(-LENGTH);
