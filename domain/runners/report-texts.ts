import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** `stderr_tail`: the end of what the handler wrote to standard error. */
export type ReportTexts = { readonly reason: string; readonly stderr_tail: string | null };

/** Encrypted for this attempt. `message_id` is null for the first message of the delivery. */
export type SealedTexts = { readonly message_id: string | null; readonly attempt: number; readonly sealed: string };

/** In characters, with a short reason. Encryption adds a third, so ten attempts with the same texts take at most 3 kB in the log. */
const MAX_PACKED_LENGTH = 360;

const packed = ({ reason, stderr_tail }: ReportTexts): string =>
  deflateRawSync(JSON.stringify([reason, stderr_tail]), { level: 9 }).toString('base64');

/** Returns the end of a text. If the text has several lines, the result starts with a whole line. */
const endOf = (text: string, length: number): string => {
  const end = text.slice(text.length - length);
  const line = end.indexOf('\n') + 1;
  return `…${line > 0 && line < end.length ? end.slice(line) : end}`;
};

/** The greatest number up to `max` for which `fits` holds; 0 if none. */
const greatest = (max: number, fits: (value: number) => boolean): number => {
  let [low, high] = [0, max];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
};

/** The reason stays whole; standard error is cut to as much of its end as fits. */
export const packTexts = ({ reason, stderr_tail }: ReportTexts): string => {
  const whole = packed({ reason, stderr_tail });
  if (stderr_tail === null || whole.length <= MAX_PACKED_LENGTH) return whole;
  const packEnd = (length: number): string => packed({ reason, stderr_tail: endOf(stderr_tail, length) });
  const length = greatest(stderr_tail.length, (value) => packEnd(value).length <= MAX_PACKED_LENGTH);
  return length === 0 ? packed({ reason, stderr_tail: null }) : packEnd(length);
};

/** @throws Error if the packed texts were damaged */
export const unpackTexts = (text: string): ReportTexts => {
  const [reason, stderr_tail] = JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString()) as [string, string | null];
  return { reason, stderr_tail };
};

/** With seconds: the line and column of a place in code have no third number. */
const TIME_OF_DAY = /(?<!\d)\d\d:\d\d:\d\d(?:[.,]\d+)?/g;
/** Process ids as log lines write them. */
const PROCESS_ID = /\b(pid|process|worker|thread|node)([ =:#]{1,2})\d+/gi;
/** Dates, and what can be a UUID, a hash or a large number. */
const HEX_RUN = /[0-9a-f][0-9a-f-]{7,}(?:[.,]\d+)?/gi;
/** What can be an id with other letters. */
const LONG_RUN = /[0-9a-z]{20,}/gi;

/** Numbers, and what can be an id. */
const NUMBER_OR_ID = /[0-9a-z]*\d[0-9a-z]*(?:[-.,:][0-9a-z]*\d[0-9a-z]*)*/gi;

/** The same for two reasons that differ only in numbers and ids. */
export const problemKey = (code: string | null, reason: string): string => `${code ?? ''}\0${reason.replace(NUMBER_OR_ID, '0')}`;

const withoutId = (run: string): string => (/\d/.test(run) ? '0' : run);

/**
 * The same for two reports of one failure: equal reasons, and standard error that differs only in times, long ids and process ids. Other
 * numbers, such as an HTTP status, distinguish failures.
 */
export const failureKey = ({ reason, stderr_tail }: ReportTexts): string => {
  const text = (stderr_tail ?? '')
    .replace(TIME_OF_DAY, '0')
    .replace(PROCESS_ID, (_, name: string, sign: string) => `${name}${sign}0`)
    .replace(HEX_RUN, withoutId);
  return `${reason}\0${text.replace(LONG_RUN, withoutId)}`;
};
