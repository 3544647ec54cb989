/**
 * A message, and what it must become. `source` says who sends such messages, or which rule they follow. Strings of bytes
 * have a character U+0000 to U+00FF for each byte. What is not stated is not compared.
 */
export type CorpusMail = {
  readonly name: string;
  readonly source: string;
  readonly mail: string;
  readonly subject?: string;
  readonly from?: string;
  readonly from_name?: string | null;
  readonly text?: string;
  readonly html?: string | null;
  /** Name, type and bytes of each file. */
  readonly files?: readonly (readonly [name: string, type: string, bytes: string])[];
  readonly automatic?: string | null;
};

/** Returns the lines of a message with the ends that SMTP uses. */
export const lines = (...all: readonly string[]): string => all.join('\r\n');

/** Returns a text in UTF-8, as a string of bytes. */
export const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

export const base64 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('base64');

const HEAD = ['From: Ada <ada@example.com>', 'To: agent.demo@mail.test', 'Subject: S', 'MIME-Version: 1.0'];

/** Returns a message of one part: its header lines, and its body. */
export const single = (header: readonly string[], ...body: readonly string[]): string => lines(...HEAD, ...header, '', ...body, '');

/** A part of a multipart: its header lines, and its body. */
export const part = (header: readonly string[], ...body: readonly string[]): string => lines(...header, '', ...body);

/** Returns a multipart with the type `multipart/<type>`, without the message around it. */
export const multi = (type: string, boundary: string, ...parts: readonly string[]): string =>
  lines(
    `Content-Type: multipart/${type}; boundary="${boundary}"`,
    '',
    ...parts.flatMap((one) => [`--${boundary}`, one]),
    `--${boundary}--`,
  );

/** Returns a message with several parts. */
export const message = (type: string, ...parts: readonly string[]): string => lines(...HEAD, multi(type, 'outer', ...parts), '');

/** The part with the sender's words in the messages of the corpus. */
export const WORDS = part(['Content-Type: text/plain; charset=utf-8'], 'The words');
