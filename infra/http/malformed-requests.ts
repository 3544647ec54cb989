import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { RequestError } from '@hono/node-server';
import { problemResponse } from '../../api/http/problem.ts';
import { Refusal } from '../../domain/refusal.ts';

const MAX_HEADERS = 200;
/** A path with `.` or `..` as a segment, plain or percent-encoded. Dots have no meaning in the query. */
const DOT_SEGMENT = /^[^?#]*\/(?:\.|%2e){1,2}(?:[/?#]|$)/i;
/** Matches the transfer codings that Node decodes: only `chunked`. */
const TRANSFER_ENCODING = /^(?:chunked)?$/i;
const TARGET = /^(?:\/|https?:\/\/)[^\\]*$/i;

/** In `rawHeaders`, names and values alternate. */
const isHostName = (text: string, index: number): boolean => index % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host';

/** Node joins repeated headers with a comma, so they are counted only if the value contains one. */
const isRepeated = (name: string, value: string | string[] | undefined, rawHeaders: readonly string[]): boolean =>
  value?.includes(',') === true && rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length > 1;

const malformed = (detail: string): Refusal => new Refusal('malformed', detail);

/**
 * Checks a request for what the application could not see: Node drops headers after the first 2,000 and all Host
 * headers except the first, and URL parsing removes dot segments.
 * @returns the refusal to answer with; null if the request is well-formed
 */
export const refusalFor = ({ url = '', httpVersionMajor, httpVersionMinor, headers, rawHeaders }: IncomingMessage): Refusal | null => {
  if (httpVersionMajor !== 1) return malformed('The request must use HTTP/1.1 or HTTP/1.0');
  if (rawHeaders.length > MAX_HEADERS * 2) return new Refusal('headers_too_large', `A request may have at most ${MAX_HEADERS} headers`);
  if (httpVersionMinor > 0 && !headers.host) return malformed('The header Host is missing');
  if (headers.host && !URL.canParse(`http://${headers.host}`)) return malformed('The header Host does not contain a valid host');
  if (rawHeaders.filter(isHostName).length > 1) return malformed('The request has more than one header Host');
  if (isRepeated('idempotency-key', headers['idempotency-key'], rawHeaders))
    return malformed('The request has more than one header Idempotency-Key');
  if (!TRANSFER_ENCODING.test(headers['transfer-encoding'] ?? '')) return malformed('The only supported Transfer-Encoding is chunked');
  if (!TARGET.test(url)) return malformed('The request target is not a valid path');
  return DOT_SEGMENT.test(url) ? malformed('The path must not contain the segments . and ..') : null;
};

const refusalOf = ({ code }: NodeJS.ErrnoException): Refusal => {
  if (code === 'HPE_HEADER_OVERFLOW') return new Refusal('headers_too_large', 'The headers may have at most 16 KiB');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal('too_slow', 'The request took too long to arrive');
  return malformed('This is not a valid HTTP/1.1 request (RFC 9112)');
};

/** Called for every request that is refused before it reaches the application. */
export type ReportMalformed = (requestId: string, status: number) => void;

type RenderedProblem = { readonly status: number; readonly headers: Record<string, string>; readonly text: string };

const renderProblem = async (refusal: Refusal, report: ReportMalformed): Promise<RenderedProblem> => {
  const id = randomUUID();
  const response = problemResponse(refusal, '', id);
  const text = await response.text();
  const headers = {
    ...Object.fromEntries(response.headers),
    'x-request-id': id,
    'x-content-type-options': 'nosniff',
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
  };
  report(id, response.status);
  return { status: response.status, headers, text };
};

/** The HTTP adapter could not convert it: its Host header contains a path, or its target is not a URL. */
const answerUnparsable = async (error: unknown, report: ReportMalformed): Promise<Response> => {
  const { status, headers, text } = await renderProblem(
    error instanceof RequestError
      ? malformed('The path or the header Host cannot be parsed')
      : new Refusal('internal', 'The request failed because of an error in this service'),
    report,
  );
  return new Response(text, { status, headers });
};

const refuse = async (outgoing: ServerResponse, refusal: Refusal, report: ReportMalformed): Promise<void> => {
  const { status, headers, text } = await renderProblem(refusal, report);
  outgoing.writeHead(status, headers).end(text);
};

const serialize = ({ status, headers, text }: RenderedProblem): string => {
  const headerLines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...headerLines, '', text].join('\r\n');
};

/** Node would close the connection of a CONNECT request without a response, and does not handle errors of its socket. */
const refuseTunnel = async (socket: Duplex, report: ReportMalformed): Promise<void> => {
  socket.on('error', () => socket.destroy());
  const response = serialize(await renderProblem(malformed('This server is not a proxy: CONNECT is not supported'), report));
  socket.end(response, () => socket.destroy());
};

/** Node's internal field `_httpMessage` is the response that it is sending. */
type HttpSocket = Duplex & { readonly _httpMessage?: ServerResponse | null };

type LastAnswer = { readonly send: (socket: Duplex, response: string) => void; readonly report: ReportMalformed };

/** The sockets that have received an invalid request while earlier requests still wait for their responses. */
const waitingSockets = new WeakSet<Duplex>();

/**
 * Waits for earlier requests of the connection; otherwise the client would take this response for one of theirs. If the response has
 * already begun, only closes the connection.
 */
const answerClientError = async (error: NodeJS.ErrnoException, socket: Duplex, answer: LastAnswer): Promise<void> => {
  const current = (socket as HttpSocket)._httpMessage;
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy(error);
  if (current?.req.complete) {
    if (waitingSockets.has(socket)) return;
    waitingSockets.add(socket);
    current.once('close', () => {
      waitingSockets.delete(socket);
      void answerClientError(error, socket, answer);
    });
    return;
  }
  if (current?.headersSent) return void socket.destroy(error);
  answer.send(socket, serialize(await renderProblem(refusalOf(error), answer.report)));
};

/** Handles requests that cannot be passed to the application. Called by Node's HTTP server and by the adapter. */
export const createMalformedHandlers = (report: ReportMalformed, send: LastAnswer['send']) => ({
  answerUnparsable: (error: unknown): Promise<Response> => answerUnparsable(error, report),
  refuse: (outgoing: ServerResponse, refusal: Refusal): Promise<void> => refuse(outgoing, refusal, report),
  refuseTunnel: (_: IncomingMessage, socket: Duplex): void => void refuseTunnel(socket, report),
  answerClientError: (error: NodeJS.ErrnoException, socket: Duplex): void => void answerClientError(error, socket, { send, report }),
});
