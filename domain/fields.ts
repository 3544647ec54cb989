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
 * A schema for e-mail addresses of 3 to 253 characters, with the pattern of HTML `<input type=email>`. The time to
 * match this pattern is linear in the length of the text.
 */
export const Email = z.email({ pattern: z.regexes.html5Email }).min(3).max(253);
