import { z } from 'zod';
import { counted } from './counted.ts';
import { plainDateTime } from './date-time.ts';
import { shownValue } from './shown-value.ts';

const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** Counts Unicode code points, as JSON Schema does. */
export const text = (min: number, max: number) =>
  z
    .string()
    .meta({ minLength: min, maxLength: max })
    .superRefine((value, issues) => {
      const length = value.length <= max && value.length >= min * 2 ? value.length : codePoints(value);
      const message = min === 0 ? `must have at most ${counted(max, 'character')}` : `must have ${min} to ${counted(max, 'character')}`;
      if (length < min) issues.addIssue({ code: 'too_small', minimum: min, origin: 'string', inclusive: true, message });
      if (length > max) issues.addIssue({ code: 'too_big', maximum: max, origin: 'string', inclusive: true, message });
    });

export const integer = (min: number, max: number) => {
  const range = `must be between ${min} and ${max}`;
  return z.int(`must be an integer between ${min} and ${max}`).min(min, range).max(max, range);
};

/** Control characters, line breaks, characters that change the direction of text, unpaired surrogates. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\u206a-\u206f\ufff9-\ufffb]/u;
/** The maximum number of combining marks (such as accents) in a row. No language needs more. */
const MAX_MARKS = 8;
const EXCESSIVE_MARKS = new RegExp(`(\\p{M}{${MAX_MARKS}})\\p{M}+`, 'u');
const VISIBLE = /[^\p{Z}\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/u;

/** Why the text must not be shown on one line as it is. */
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
 * For texts shown on one line, such as names and labels. Counts as `text` does. Refuses characters with which a text could hide or
 * disguise what is next to it.
 */
export const displayText = (min: number, max: number) => text(min, max).superRefine(refuseUnsafe);

/** Like `displayText`, without a length limit. */
export const DisplayLine = z.string().superRefine(refuseUnsafe);

/** Makes another system's text acceptable to `displayText(1, max)`: removes, replaces and cuts. Null if no visible character is left. */
export const cleanDisplayText = (value: string, max: number): string | null => {
  // First cut a text that is far too long, so that cleaning it does not take long.
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

/** The earliest instant, in milliseconds. */
export const YEAR_1 = Date.parse('0001-01-01T00:00:00.000Z');
const YEAR_10000 = Date.parse('9999-12-31T23:59:59.999Z') + 1;

/** Compares in UTC: an offset can move a time to year 0, which Postgres cannot store, or to year 10000, which RFC 3339 cannot represent. */
const hasFourDigitYear = (instant: string): boolean => !(Date.parse(instant) < YEAR_1 || Date.parse(instant) >= YEAR_10000);

const toPlain = (value: unknown): unknown => (typeof value === 'string' ? plainDateTime(value) : value);

/** Says what is wrong, and repeats the text as it arrived. */
const dateTimeFault = (value: unknown): string =>
  `must be an RFC 3339 date-time, such as 2026-03-14T09:26:53Z or 2026-03-14T10:26:53+01:00${typeof value === 'string' ? `; it is ${shownValue(value)}` : ''}`;

/** RFC 3339 date-times exactly as JavaScript reads them, in upper case. */
export const PlainInstant = z.iso
  .datetime({ offset: true, error: ({ input }) => dateTimeFault(input) })
  .refine(hasFourDigitYear, 'must be in the years 0001 to 9999');

/** Converts a text that `InstantText` accepts to UTC with milliseconds. */
export const instantOf = (text: string): string => new Date(plainDateTime(text)).toISOString();

/** RFC 3339 with `Z` or an offset, as `plainDateTime` reads it. The parsed value is in UTC with milliseconds. */
export const Instant = z.preprocess(toPlain, PlainInstant.transform(instantOf));

/** Like `Instant`, but keeps the text: a schema that changes the value cannot have an example in the OpenAPI document. */
export const InstantText = z
  .string()
  .refine((instant) => PlainInstant.safeParse(plainDateTime(instant)).success, {
    error: ({ input }) => `${dateTimeFault(input)}; the years are 0001 to 9999`,
  })
  .meta({ format: 'date-time' });

/** For responses: RFC 3339 in UTC with milliseconds. */
export const Timestamp = z.string().meta({ format: 'date-time', examples: ['2026-03-14T09:26:53.589Z'] });

export const EventId = z.string().meta({ description: 'The id of the event', examples: ['0197a3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d'] });

export const Slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be 1 to 64 characters of a-z, 0-9 and -, and must not start with -');

/** As HTML `<input type=email>`, but no dot at the start or end of the local part, and no two in a row (RFC 5321, 4.1.2). Matches in linear time. */
const EMAIL =
  /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@[a-zA-Z\d](?:[a-zA-Z\d-]{0,61}[a-zA-Z\d])?(?:\.[a-zA-Z\d](?:[a-zA-Z\d-]{0,61}[a-zA-Z\d])?)*$/;

const EMAIL_LENGTH = 'must have 3 to 253 characters';

export const Email = z.email({ pattern: EMAIL, error: 'must be an e-mail address' }).min(3, EMAIL_LENGTH).max(253, EMAIL_LENGTH);
