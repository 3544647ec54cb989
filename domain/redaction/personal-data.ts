import type { Span } from './span.ts';

const MAX_LOCAL_PART = 64;
const MAX_DOMAIN = 253;
const LOCAL_PART = /[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+$/u;
const DOMAIN = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}(?:\p{L}{2,63}|xn--[a-z0-9-]{2,59})/u;

/** Finds e-mail addresses. The time is proportional to the length of the text. */
export const findEmails = (text: string): Span[] => {
  const spans: Span[] = [];
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const local = LOCAL_PART.exec(text.slice(Math.max(0, at - MAX_LOCAL_PART), at))?.[0].replace(/^[.'`/=]+/, '') ?? '';
    const domain = DOMAIN.exec(text.slice(at + 1, at + 1 + MAX_DOMAIN))?.[0];
    if (local !== '' && !local.endsWith('.') && domain) spans.push({ from: at - local.length, to: at + 1 + domain.length, tag: 'email' });
  }
  return spans;
};

const SEPARATOR = '[ .\\u00a0\\u2010-\\u2013/-]';

/**
 * Matches phone numbers: international ones, which start with + or 00; national ones, which start with 0 and have
 * separators between their groups; and North American ones.
 */
const PHONE = new RegExp(
  [
    `(?:\\+|(?<!\\d)00)${SEPARATOR}?[1-9]\\d{0,2}(?:${SEPARATOR}{0,2}\\(?\\d{1,5}\\)?){2,7}`,
    `\\(0\\d{1,5}\\)${SEPARATOR}?\\d{2,9}(?:${SEPARATOR}\\d{2,6}){0,4}`,
    `0[1-9]\\d{0,4}(?:${SEPARATOR}\\d{2,9}){1,5}`,
    `(?:1${SEPARATOR})?(?:\\([2-9]\\d{2}\\)${SEPARATOR}?|[2-9]\\d{2}${SEPARATOR})[2-9]\\d{2}${SEPARATOR}\\d{4}`,
  ].join('|'),
  'g',
);
const BEFORE_PHONE = /[\p{L}\p{N}_@#.:/=-]$/u;
const AFTER_PHONE = /^[\p{L}\p{N}_@]/u;
const DATE = /^\d{1,4}([./-])\d{1,2}\1\d{1,4}$/;

const isPhone = (found: string): boolean => {
  const digits = found.replace(/\D/g, '').length;
  return digits >= 8 && digits <= 17 && !DATE.test(found);
};

/**
 * Finds phone numbers that have a country code or are written in groups. A number without either, such as 5551234567,
 * is not found.
 */
export const findPhones = (text: string): Span[] => {
  const spans: Span[] = [];
  for (const { 0: found, index } of text.matchAll(PHONE)) {
    const to = index + found.length;
    const isPartOfWord =
      BEFORE_PHONE.test(text.slice(Math.max(0, index - 2), index)) &&
      !/(?:tel|sms|whatsapp)[:=]$/i.test(text.slice(Math.max(0, index - 9), index));
    if (!isPartOfWord && !AFTER_PHONE.test(text.slice(to, to + 2)) && isPhone(found)) spans.push({ from: index, to, tag: 'phone' });
  }
  return spans;
};
