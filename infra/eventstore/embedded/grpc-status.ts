/** `trailers` are those from which the client builds its error. */
export type Status = { code: number; message: string; trailers?: Record<string, string> };

export const ok: Status = { code: 0, message: '' };

/** The limit of a message or trailer: header frames above 16 KB would end the connection with all its calls. */
const MAX_MESSAGE_LENGTH = 1_000;
const shorten = (text: string): string =>
  text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()}...` : text;

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?');

const status = (code: number, message: string, exception?: string, trailers: Record<string, string | number> = {}): Status => ({
  code,
  message: shorten(message),
  trailers: Object.fromEntries(
    Object.entries(exception ? { exception, ...trailers } : trailers).map(([name, value]) => [name, printable(shorten(String(value)))]),
  ),
});

/** gRPC code UNKNOWN, as EventStoreDB uses it for requests that it cannot handle. */
export const unknown = (message: string): Status => status(2, message);
/** The status that EventStoreDB sends if its request handler fails, with the same text. */
export const handlerFailure = unknown('Exception was thrown by handler.');
export const deadlineExceeded = status(4, 'Deadline exceeded');
export const accessDenied = status(7, 'Access Denied', 'access-denied');
export const resourceExhausted = (message: string): Status => status(8, message);
export const unimplemented = (path: string): Status => status(12, `${path} is not part of the embedded store`);
/** A stored record is unreadable. A retry cannot help. */
export const dataLoss = (message: string): Status => status(15, message);
export const unavailable = (message: string): Status => status(14, message);
export const badRequest = (message: string): Status => status(3, message);

export const streamDeleted = (stream: string): Status =>
  status(9, `Event stream '${stream}' is deleted.`, 'stream-deleted', { 'stream-name': stream });

export const wrongExpectedVersion = (stream: string, expected: number | bigint, actual: number): Status =>
  status(
    9,
    `Append failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${expected}, Actual version: ${actual}`,
    'wrong-expected-version',
    {
      'stream-name': stream,
      'expected-version': String(expected),
      'actual-version': actual,
    },
  );

export const maximumAppendSize = (limit: number): Status =>
  status(3, `Maximum Append Size of ${limit} Exceeded.`, 'maximum-append-size-exceeded', { 'maximum-append-size': limit });
