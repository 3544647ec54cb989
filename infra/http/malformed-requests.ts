import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { RequestError } from '@hono/node-server';
import { problemResponse } from '../../api/http/problem.ts';
import { Refusal } from '../../domain/refusal.ts';

const MAX_HEADERS = 200;
/** In the path alone: nobody resolves those of a query. */
const DOTS = /^[^?#]*\/(?:\.|%2e){1,2}(?:[/?#]|$)/i;
/** Node unpacks chunks and nothing else. */
const CODINGS = /^(?:chunked)?$/i;
const TARGET = /^(?:\/|https?:\/\/)[^\\]*$/i;

/** Of names and values, which take turns. Node keeps the first Host and says nothing of a second. */
const isHost = (text: string, at: number): boolean => at % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host';

/** What Node's parser takes and the application never sees: URLs resolve dots, and headers beyond 2,000 are dropped. */
export const faultOf = ({ url = '', httpVersionMajor, httpVersionMinor, headers, rawHeaders }: IncomingMessage): Refusal | null => {
  if (httpVersionMajor !== 1) return new Refusal('malformed', 'a request must be of HTTP/1.1 or HTTP/1.0');
  if (rawHeaders.length > MAX_HEADERS * 2) return new Refusal('headers_too_large', `a request may have at most ${MAX_HEADERS} headers`);
  if (httpVersionMinor > 0 && !headers.host) return new Refusal('malformed', 'the header Host is missing');
  if (headers.host && !URL.canParse(`http://${headers.host}`)) return new Refusal('malformed', 'the header Host names no host');
  if (rawHeaders.filter(isHost).length > 1) return new Refusal('malformed', 'the header Host stands twice');
  if (!CODINGS.test(headers['transfer-encoding'] ?? '')) return new Refusal('malformed', 'the only Transfer-Encoding is chunked');
  if (!TARGET.test(url)) return new Refusal('malformed', 'this is no path');
  return DOTS.test(url) ? new Refusal('malformed', 'a path may not have the segments . and ..') : null;
};

const refusalOf = ({ code }: NodeJS.ErrnoException): Refusal => {
  if (code === 'HPE_HEADER_OVERFLOW') return new Refusal('headers_too_large', 'the headers may have at most 16 KiB');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal('too_slow', 'the request took too long to come');
  return new Refusal('malformed', 'this is not HTTP/1.1 as RFC 9112 has it');
};

const written = async (refusal: Refusal) => {
  const id = randomUUID();
  const answer = problemResponse(refusal, '', id);
  const text = await answer.text();
  const headers = {
    ...Object.fromEntries(answer.headers),
    'x-request-id': id,
    'x-content-type-options': 'nosniff',
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
  };
  return { status: answer.status, headers, text };
};

/** The answer where the adapter makes no request of what came: of a Host with a path in it, a target that is no URL. */
export const answerUnparsable = async (error: unknown): Promise<Response> => {
  const isUnreadable = error instanceof RequestError;
  const { status, headers, text } = await written(
    isUnreadable
      ? new Refusal('malformed', 'the path, or the header Host, can not be read')
      : new Refusal('internal', 'the request failed'),
  );
  return new Response(text, { status, headers });
};

export const refuse = async (outgoing: ServerResponse, refusal: Refusal): Promise<void> => {
  const { status, headers, text } = await written(refusal);
  outgoing.writeHead(status, headers).end(text);
};

const onWire = ({ status, headers, text }: Awaited<ReturnType<typeof written>>): string =>
  [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', text].join(
    '\r\n',
  );

/** Answers CONNECT, for which Node has nothing but the end of the connection: nobody else listens to such a socket any more. */
export const refuseTunnel = async (_: IncomingMessage, socket: Duplex): Promise<void> => {
  socket.on('error', () => socket.destroy());
  const answer = onWire(await written(new Refusal('malformed', 'this is no proxy: CONNECT leads nowhere')));
  socket.end(answer, () => socket.destroy());
};

type Answering = { readonly _httpMessage?: ServerResponse | null };

/** Where requests that came whole are answered before the bytes behind them are. */
const waiting = new WeakSet<Duplex>();

/**
 * Answers on a bare socket what is no request: behind the answers to those that came whole before it, or theirs it would be taken for. What
 * breaks off in a request of which an answer is on its way there closes the connection.
 */
export const answerClientError = async (error: NodeJS.ErrnoException, socket: Duplex): Promise<void> => {
  const answer = (socket as Duplex & Answering)._httpMessage;
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy(error);
  else if (answer?.req.complete) {
    if (waiting.has(socket)) return;
    waiting.add(socket);
    answer.once('close', () => {
      waiting.delete(socket);
      void answerClientError(error, socket);
    });
  } else if (answer?.headersSent) socket.destroy(error);
  else socket.end(onWire(await written(refusalOf(error))));
};
