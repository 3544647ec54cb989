import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { clientOf } from '../ratelimit/failed-credentials.ts';
import { addToShare, type FairShare, fitsShare, newFairShare } from '../threads/fair-share.ts';
import { countShareRefusal } from '../threads/share-refusals.ts';

/** Reading a large body costs processor time, which other requests need when many are refused at once. */
const MAX_CONNECTIONS = 32;
/** An address gets at most this part of the connections that the others leave. */
const ADDRESS_PART = 1 / 2;
const MAX_TIME_MS = 5_000;
/** The bytes are counted every CHECK_INTERVAL_MS, so a fast client can send somewhat more. */
const MAX_BYTES = 128 * 1024 * 1024;
const CHECK_INTERVAL_MS = 50;
/** If the declared size is at most this, the rest of a body is dropped without closing the connection. */
const MAX_KEPT_BYTES = 65_536;
/** The start of an IPv4 address at a port that also listens to IPv6. */
const MAPPED = /^::ffff:(?=[\d.]+$)/i;

export type LingeringLimits = { readonly maxConnections: number; readonly maxTimeMs: number; readonly maxBytes: number };

const LIMITS: LingeringLimits = { maxConnections: MAX_CONNECTIONS, maxTimeMs: MAX_TIME_MS, maxBytes: MAX_BYTES };

/** `ends` has the lingering connections, each with the function that ends this state and closes the connection if it is due. */
type Lingering = { readonly limits: LingeringLimits; readonly share: FairShare; readonly ends: Map<Duplex, () => void> };

const ignore = (): void => {};

/** Leaves it open for a bounded time and number of bytes. Returns false if too many are open already: then close it at once. */
const linger = ({ limits, share, ends }: Lingering, socket: Socket): boolean => {
  const client = clientOf(socket.remoteAddress?.replace(MAPPED, '') ?? null);
  if (ends.has(socket) || socket.destroyed) return false;
  if (!fitsShare(share, client, 1, ADDRESS_PART)) {
    countShareRefusal('closing-connections');
    return false;
  }
  const maxBytesRead = socket.bytesRead + limits.maxBytes;
  const expireAt = performance.now() + limits.maxTimeMs;
  const check = (): void => {
    if (socket.bytesRead > maxBytesRead || performance.now() > expireAt) socket.destroy();
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS).unref();
  let mustClose = false;
  const end = (): void => {
    if (!ends.delete(socket)) return;
    clearInterval(timer);
    addToShare(share, client, -1);
    socket.destroySoon = Socket.prototype.destroySoon;
    if (mustClose) socket.destroySoon();
  };
  // Called after the response by Node and the adapter. With unread bytes, it would reset the connection and lose the response.
  socket.destroySoon = () => {
    mustClose = true;
  };
  addToShare(share, client, 1);
  ends.set(socket, end);
  socket.once('close', end);
  return true;
};

const mayHaveBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

const dropBody = (lingering: Lingering, incoming: IncomingMessage): void => {
  const { socket } = incoming;
  if (incoming.readableEnded) return;
  if (!incoming.complete) {
    if (!linger(lingering, socket)) return void socket.destroySoon();
    incoming.once('end', () => lingering.ends.get(socket)?.());
  }
  // The former reader of the body has stopped, and its listener would stop the flow.
  incoming.removeAllListeners('data').on('data', ignore).resume();
};

/**
 * A client that is still sending the body loses the response if the server closes the connection, so the rest is first read and dropped.
 * Time, bytes and the number of such connections are limited, in total and for one address.
 */
export const createLingeringClose = (given: Partial<LingeringLimits> = {}) => {
  const limits = { ...LIMITS, ...given };
  const lingering: Lingering = { limits, share: newFairShare(limits.maxConnections), ends: new Map() };
  return {
    /** Call it before the handlers of the request. */
    watch: (incoming: IncomingMessage, outgoing: ServerResponse): void => {
      if (mayHaveBody(incoming)) outgoing.prependOnceListener('finish', () => dropBody(lingering, incoming));
    },
    /** Adds `Connection: close` if more than MAX_KEPT_BYTES of the body may still arrive. Call it before the response is sent. */
    announce: (incoming: IncomingMessage, outgoing: ServerResponse): void => {
      if (incoming.complete || !mayHaveBody(incoming)) return;
      if (Number(incoming.headers['content-length'] ?? Number.NaN) <= MAX_KEPT_BYTES) return;
      outgoing.setHeader('connection', 'close');
    },
    /** Sends the last response of a connection whose further bytes cannot be parsed. */
    endWith: (socket: Duplex, response: string): void => {
      if (!(socket instanceof Socket) || !linger(lingering, socket)) return void socket.end(response);
      socket.end(response);
      socket.once('end', () => socket.destroy());
    },
    isLingering: (socket: Duplex): boolean => lingering.ends.has(socket),
  };
};

export type LingeringClose = ReturnType<typeof createLingeringClose>;
