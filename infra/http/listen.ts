import { createServer, type RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { answerClientError, answerUnparsable, faultOf, refuse, refuseTunnel } from './malformed-requests.ts';

const DRAIN_MS = 10_000;
const options = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
  requireHostHeader: false,
};

/**
 * Serves an application. `close` stops taking connections, ends each with the answer to its next request, lets requests end (10 s at most) and
 * closes the rest. @throws Error of one line
 */
export const listen = async (
  app: Hono,
  { host, port }: { host: string; port: number },
): Promise<{ port: number; close: () => Promise<void> }> => {
  const hear = getRequestListener(app.fetch, { hostname: 'localhost', errorHandler: answerUnparsable });
  let closing = false;
  const taken: RequestListener = (incoming, outgoing) => {
    // Whoever keeps a connection busy would have it cut off in the midst of a request in the end.
    if (closing) outgoing.setHeader('connection', 'close');
    const fault = faultOf(incoming);
    void (fault ? refuse(outgoing, fault) : hear(incoming, outgoing));
  };
  const server = createServer(options, taken);
  server.on('clientError', answerClientError);
  server.on('connect', refuseTunnel);
  // What is expected beside 100-continue is nobody's duty: without this Node answers 417 and no problem.
  server.on('checkExpectation', taken);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new Error(`PORT ${port} of ${host} is taken by another process`) : error),
    );
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        closing = true;
        const late = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
};
