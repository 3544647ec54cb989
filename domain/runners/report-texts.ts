import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** The texts of a report: why an attempt failed, and the end of what the handler wrote to standard error. */
export type ReportTexts = { readonly reason: string; readonly stderr_tail: string | null };

/**
 * The texts of a report, encrypted, with what identifies the attempt for which they were encrypted. `message_id` is null
 * for the first message of the delivery.
 */
export type SealedTexts = { readonly message_id: string | null; readonly attempt: number; readonly sealed: string };

/**
 * The maximum number of characters of the packed texts of a report with a short reason. Encrypted, they take a third
 * more. So ten attempts with the same texts take at most 3 kB in the log.
 */
const MAX_PACKED_LENGTH = 360;

const packed = ({ reason, stderr_tail }: ReportTexts): string =>
  deflateRawSync(JSON.stringify([reason, stderr_tail]), { level: 9 }).toString('base64');

/** Returns the end of a text, from the start of a line on if it has several lines. */
const endOf = (text: string, length: number): string => {
  const end = text.slice(text.length - length);
  const line = end.indexOf('\n') + 1;
  return `…${line > 0 && line < end.length ? end.slice(line) : end}`;
};

/** Returns the greatest number up to `max` for which `fits` holds; 0 if it holds for none. */
const greatest = (max: number, fits: (value: number) => boolean): number => {
  let [low, high] = [0, max];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
};

/** Compresses the texts of a report. The reason stays whole; of standard error, only as much of the end as fits. */
export const packTexts = ({ reason, stderr_tail }: ReportTexts): string => {
  const whole = packed({ reason, stderr_tail });
  if (stderr_tail === null || whole.length <= MAX_PACKED_LENGTH) return whole;
  const packEnd = (length: number): string => packed({ reason, stderr_tail: endOf(stderr_tail, length) });
  const length = greatest(stderr_tail.length, (value) => packEnd(value).length <= MAX_PACKED_LENGTH);
  return length === 0 ? packed({ reason, stderr_tail: null }) : packEnd(length);
};

/** Returns the texts of `packTexts`. @throws Error if they were damaged */
export const unpackTexts = (text: string): ReportTexts => {
  const [reason, stderr_tail] = JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString()) as [string, string | null];
  return { reason, stderr_tail };
};

/** Matches times of day, with seconds. Line and column of a place in code have no third number. */
const TIME_OF_DAY = /(?<!\d)\d\d:\d\d:\d\d(?:[.,]\d+)?/g;
/** Matches the ids of processes, as log lines name them. */
const PROCESS_ID = /\b(pid|process|worker|thread|node)([ =:#]{1,2})\d+/gi;
/** Matches dates, and what can be a UUID, a hash or a large number. */
const HEX_RUN = /[0-9a-f][0-9a-f-]{7,}(?:[.,]\d+)?/gi;
/** Matches what can be an id with other letters. */
const LONG_RUN = /[0-9a-z]{20,}/gi;

/** Matches numbers, and what can be an id. */
const NUMBER_OR_ID = /[0-9a-z]*\d[0-9a-z]*(?:[-.,:][0-9a-z]*\d[0-9a-z]*)*/gi;

/** Returns a text that is the same for two reasons which differ only in numbers and ids. */
export const problemKey = (code: string | null, reason: string): string => `${code ?? ''}\0${reason.replace(NUMBER_OR_ID, '0')}`;

const withoutId = (run: string): string => (/\d/.test(run) ? '0' : run);

/**
 * Returns a text that is the same for two reports of the same failure: their reasons are equal, and what was written to
 * standard error differs only in times, long ids and the ids of processes. Other numbers, such as an HTTP status, tell
 * failures apart.
 */
export const failureKey = ({ reason, stderr_tail }: ReportTexts): string => {
  const text = (stderr_tail ?? '')
    .replace(TIME_OF_DAY, '0')
    .replace(PROCESS_ID, (_, name: string, sign: string) => `${name}${sign}0`)
    .replace(HEX_RUN, withoutId);
  return `${reason}\0${text.replace(LONG_RUN, withoutId)}`;
};
