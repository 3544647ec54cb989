import { once } from 'node:events';
import { connect } from 'node:net';

export type HttpResponse = { readonly status: number; readonly body: Buffer };

/** A keep-alive connection to a server on this machine. It carries at most one request at a time. */
export type Connection = {
  /** Sends a request. The callback receives null if the connection was lost before the response was complete. */
  readonly send: (request: Buffer, onResponse: (response: HttpResponse | null) => void) => void;
  readonly isOpen: () => boolean;
  readonly end: () => void;
};

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

/**
 * Returns the byte offset at which the response body ends. It is infinite if the end of a chunked body has not been
 * received yet.
 */
const bodyEndOf = (head: string, bytes: Buffer, bodyAt: number): number => {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) return bodyAt + Number(length);
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return bodyAt;
  return bytes.toString('latin1', bytes.length - LAST_CHUNK.length) === LAST_CHUNK ? bytes.length : Number.POSITIVE_INFINITY;
};

const parseResponse = (bytes: Buffer): HttpResponse | null => {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const head = bytes.toString('latin1', 0, headEnd);
  const bodyAt = headEnd + HEAD_END.length;
  const end = bodyEndOf(head, bytes, bodyAt);
  return bytes.length < end ? null : { status: Number(head.slice(9, 12)), body: bytes.subarray(bodyAt, end) };
};

export const openConnection = async (port: number): Promise<Connection> => {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  let onResponse: ((response: HttpResponse | null) => void) | null = null;
  let received: Buffer | null = null;
  const deliver = (response: HttpResponse | null): void => {
    const callback = onResponse;
    onResponse = received = null;
    callback?.(response);
  };
  socket.on('data', (chunk: Buffer) => {
    received = received ? Buffer.concat([received, chunk]) : chunk;
    const response = parseResponse(received);
    if (response) deliver(response);
  });
  socket.on('error', () => {});
  socket.on('close', () => deliver(null));
  return {
    send: (request, callback) => {
      onResponse = callback;
      socket.write(request);
    },
    isOpen: () => socket.writable,
    end: () => socket.destroy(),
  };
};

export type HttpRequest = { method: string; path: string; headers?: Readonly<Record<string, string>>; body?: string };

/** Returns the text of an HTTP/1.1 request. If there is a body, adds its Content-Length header. */
export const encodeRequest = ({ method, path, headers = {}, body = '' }: HttpRequest): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body ? [`content-length: ${Buffer.byteLength(body)}`] : []),
    '',
    body,
  ].join('\r\n');
