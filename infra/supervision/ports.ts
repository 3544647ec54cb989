import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Returns whether a port is free, so that a server can listen on it.
 * @throws any error of listening except EADDRINUSE
 */
export const isPortFree = (port: number, host = '127.0.0.1'): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });

/**
 * The lowest port that is tried. Ports from which the operating system makes outgoing connections are higher, so no
 * connection can take a found port.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const MAX_TRIES = 100;

/** Finds a free port of 127.0.0.1. The port is random, so that processes that search at the same time find different ports. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (await isPortFree(port)) return port;
  }
  throw new Error(`found no free port between ${FIRST_PORT} and ${LAST_PORT}`);
};
