import { once } from 'node:events';
import { connect } from 'node:net';

export type Answer = { readonly status: number; readonly body: Buffer };

/** A connection to a server on this machine, kept open, with one request under way at most. */
export type Connection = {
  /** Tells of the answer, or of null where the connection was lost before it came. */
  readonly send: (request: Buffer, told: (answer: Answer | null) => void) => void;
  readonly isOpen: () => boolean;
  readonly end: () => void;
};

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

/** Where the body of an answer ends, as far as it is known yet. */
const endOf = (head: string, bytes: Buffer, bodyAt: number): number => {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) return bodyAt + Number(length);
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return bodyAt;
  return bytes.toString('latin1', bytes.length - LAST_CHUNK.length) === LAST_CHUNK ? bytes.length : Number.POSITIVE_INFINITY;
};

const answerIn = (bytes: Buffer): Answer | null => {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const head = bytes.toString('latin1', 0, headEnd);
  const bodyAt = headEnd + HEAD_END.length;
  const end = endOf(head, bytes, bodyAt);
  return bytes.length < end ? null : { status: Number(head.slice(9, 12)), body: bytes.subarray(bodyAt, end) };
};

export const connection = async (port: number): Promise<Connection> => {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  let waiting: ((answer: Answer | null) => void) | null = null;
  let received: Buffer | null = null;
  const tell = (answer: Answer | null): void => {
    const told = waiting;
    waiting = received = null;
    told?.(answer);
  };
  socket.on('data', (chunk: Buffer) => {
    received = received ? Buffer.concat([received, chunk]) : chunk;
    const answer = answerIn(received);
    if (answer) tell(answer);
  });
  socket.on('error', () => {});
  socket.on('close', () => tell(null));
  return {
    send: (request, told) => {
      waiting = told;
      socket.write(request);
    },
    isOpen: () => socket.writable,
    end: () => socket.destroy(),
  };
};

export type RequestText = { method: string; path: string; headers?: Readonly<Record<string, string>>; body?: string };

/** A request as it goes over the wire. */
export const encode = ({ method, path, headers = {}, body = '' }: RequestText): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body ? [`content-length: ${Buffer.byteLength(body)}`] : []),
    '',
    body,
  ].join('\r\n');
