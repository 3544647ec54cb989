import type { Socket } from 'node:net';
import { clientOf } from '../ratelimit/failed-credentials.ts';
import { addToShare, type FairShare, fitsShare, newFairShare } from '../threads/fair-share.ts';

const MAX_CONNECTIONS = 100;
/** An address gets at most this part of the connections that the others leave. */
const ADDRESS_PART = 1 / 2;
/** The time until a client must have started a message, in milliseconds: after the greeting, and after each message. */
const MAIL_FROM_TIMEOUT_MS = 30_000;
/** The time for one message, from MAIL FROM until all its bytes have arrived. */
const MESSAGE_TIMEOUT_MS = 300_000;
const CLOSE_DELAY_MS = 1_000;
/** The start of an IPv4 address at a port that also listens to IPv6. */
const MAPPED = /^::ffff:(?=[\d.]+$)/i;

export type ConnectionLimits = { readonly maxConnections: number; readonly mailFromMs: number; readonly messageMs: number };

const LIMITS: ConnectionLimits = {
  maxConnections: MAX_CONNECTIONS,
  mailFromMs: MAIL_FROM_TIMEOUT_MS,
  messageMs: MESSAGE_TIMEOUT_MS,
};

type Connections = {
  readonly limits: ConnectionLimits;
  readonly share: FairShare;
  readonly timers: Map<Socket, NodeJS.Timeout>;
  refused: number;
  expired: number;
};

const endWith = (socket: Socket, answer: string): void => {
  socket.end(`${answer}\r\n`);
  setTimeout(() => socket.destroy(), CLOSE_DELAY_MS).unref();
};

/** Ends the connection if it is not touched again within this time. */
const expireAfter = (connections: Connections, socket: Socket, ms: number): void => {
  clearTimeout(connections.timers.get(socket));
  const expire = (): void => {
    connections.expired++;
    endWith(socket, '421 4.4.2 The connection was idle or too slow');
  };
  connections.timers.set(socket, setTimeout(expire, ms).unref());
};

const admit = (connections: Connections, socket: Socket): void => {
  const { share, limits, timers } = connections;
  const client = clientOf(socket.remoteAddress?.replace(MAPPED, '') ?? null);
  if (!fitsShare(share, client, 1, ADDRESS_PART)) {
    connections.refused++;
    endWith(socket, '421 4.7.0 Too many connections from your address: try again in a moment');
    return;
  }
  addToShare(share, client, 1);
  expireAfter(connections, socket, limits.mailFromMs);
  socket.once('close', () => {
    addToShare(share, client, -1);
    clearTimeout(timers.get(socket));
    timers.delete(socket);
  });
};

/** Limits connections of strangers: how many an address has, so that it leaves some for others, and the time for a message. */
export const createConnectionLimits = (given: Partial<ConnectionLimits> = {}) => {
  const limits = { ...LIMITS, ...given };
  const connections: Connections = { limits, share: newFairShare(limits.maxConnections), timers: new Map(), refused: 0, expired: 0 };
  const writing = new WeakSet<Socket>();
  return {
    admit: (socket: Socket): void => admit(connections, socket),
    /** A second MAIL FROM, after RSET, does not give more time. */
    begin: (socket: Socket): void => {
      if (writing.has(socket)) return;
      writing.add(socket);
      expireAfter(connections, socket, limits.messageMs);
    },
    /** All bytes of the message have arrived: from now on, the client is not what takes time. */
    pause: (socket: Socket): void => clearTimeout(connections.timers.get(socket)),
    finish: (socket: Socket): void => {
      writing.delete(socket);
      if (!socket.destroyed) expireAfter(connections, socket, limits.mailFromMs);
    },
    status: () => ({ open: connections.share.used, refused: connections.refused, expired: connections.expired }),
  };
};
