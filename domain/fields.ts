import { z } from 'zod';

const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** A schema for strings of `min` to `max` characters. Characters are Unicode code points, as in JSON Schema. */
export const text = (min: number, max: number) =>
  z
    .string()
    .meta({ minLength: min, maxLength: max })
    .superRefine((value, issues) => {
      const length = value.length <= max && value.length >= min * 2 ? value.length : codePoints(value);
      if (length < min)
        issues.addIssue({ code: 'too_small', minimum: min, origin: 'string', inclusive: true, message: `at least ${min} characters` });
      if (length > max)
        issues.addIssue({ code: 'too_big', maximum: max, origin: 'string', inclusive: true, message: `at most ${max} characters` });
    });

/** Control characters, line breaks, characters that change the direction of text, and unpaired surrogates. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\u206a-\u206f\ufff9-\ufffb]/u;
/** No language needs more combining marks in a row than this. */
const MAX_MARKS = 8;
const EXCESSIVE_MARKS = new RegExp(`(\\p{M}{${MAX_MARKS}})\\p{M}+`, 'u');
const VISIBLE = /[^\p{Z}\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/u;

/** Why a text cannot be shown on one line as it is; null if it can. */
const displayFault = (value: string): string | null => {
  if (UNSAFE.test(value)) return 'must not contain control characters, line breaks or characters that change the direction of text';
  if (EXCESSIVE_MARKS.test(value)) return `must not contain more than ${MAX_MARKS} combining marks in a row`;
  return value === '' || VISIBLE.test(value) ? null : 'must contain a visible character';
};

const refuseUnsafe = (value: string, issues: { addIssue: (issue: { code: 'custom'; message: string }) => void }): void => {
  const message = displayFault(value);
  if (message) issues.addIssue({ code: 'custom', message });
};

/**
 * A text that is shown on one line, such as a name, a label or a reason: `min` to `max` characters, as `text` counts
 * them. It cannot disguise what is shown around it.
 */
export const displayText = (min: number, max: number) => text(min, max).superRefine(refuseUnsafe);

/** Like `displayText`, without a length limit of its own. */
export const DisplayLine = z.string().superRefine(refuseUnsafe);

/**
 * Turns a text of another system into one that `displayText(1, max)` accepts: removes what it refuses and cuts the rest.
 * Returns null if no visible character is left.
 */
export const cleanDisplayText = (value: string, max: number): string | null => {
  // A text that is far too long is cut first, so that cleaning it takes no time.
  const cleaned = value
    .slice(0, max * 8)
    .replace(/\p{Cs}/gu, '')
    .replace(new RegExp(UNSAFE, 'gu'), ' ')
    .replace(new RegExp(EXCESSIVE_MARKS, 'gu'), '$1')
    .replace(/\s+/gu, ' ')
    .trim();
  const cut = [...cleaned].slice(0, max).join('').trim();
  return VISIBLE.test(cut) ? cut : null;
};

const YEAR_1 = Date.parse('0001-01-01T00:00:00.000Z');
const YEAR_10000 = Date.parse('9999-12-31T23:59:59.999Z') + 1;

/**
 * Whether the time, converted to UTC, is in the years 0001 to 9999. Because of its offset, a time can fall into the
 * year 0, which Postgres cannot store, or into the year 10000, which RFC 3339 cannot represent.
 */
const hasFourDigitYear = (instant: string): boolean => !(Date.parse(instant) < YEAR_1 || Date.parse(instant) >= YEAR_10000);

const toUpperCase = (value: unknown): unknown => (typeof value === 'string' ? value.toUpperCase() : value);

/**
 * A schema for RFC 3339 date-times with `Z` or an offset; `t` and `z` are accepted in lower case. The parsed value is
 * in UTC with milliseconds.
 */
export const Instant = z.preprocess(
  toUpperCase,
  z.iso
    .datetime({ offset: true, message: 'must be an RFC 3339 date-time' })
    .refine(hasFourDigitYear, 'must be in the years 0001 to 9999')
    .transform((instant) => new Date(instant).toISOString()),
);

export const Slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be 1 to 64 characters of a-z, 0-9 and -, and must not start with -');

/**
 * The pattern of HTML `<input type=email>`, but without a dot at the start or the end of the local part and without two
 * dots in a row (RFC 5321, 4.1.2). It needs linear time.
 */
const EMAIL =
  /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@[a-zA-Z\d](?:[a-zA-Z\d-]{0,61}[a-zA-Z\d])?(?:\.[a-zA-Z\d](?:[a-zA-Z\d-]{0,61}[a-zA-Z\d])?)*$/;

/** An e-mail address of 3 to 253 characters. */
export const Email = z.email({ pattern: EMAIL, error: 'must be an e-mail address' }).min(3).max(253);
