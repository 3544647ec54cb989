import { createServer, type RequestListener, type Server } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import type { CheckHost } from './allowed-host.ts';
import { createLingeringClose } from './lingering-close.ts';
import { createMalformedHandlers, type ReportMalformed, refusalFor } from './malformed-requests.ts';

const DRAIN_TIMEOUT_MS = 10_000;
const SERVER_OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
  requireHostHeader: false,
};

type Address = { readonly host: string; readonly port: number };

/**
 * Returns the port; if `port` is 0, the system chooses one.
 * @throws Error with a one-line message for the operator if the port is taken
 */
const bind = async (server: Server, { host, port }: Address): Promise<number> => {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new Error(`PORT ${port} of ${host} is in use by another process`) : error),
    );
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
};

const drain = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), DRAIN_TIMEOUT_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });

/**
 * `close` accepts no more connections, and closes each open one after its next response. Requests that still run after 10 s are aborted.
 * `checkHost` can refuse requests by their Host header.
 * @throws Error with a one-line message for the operator if the port is taken
 */
export const listen = async (
  app: Hono,
  address: Address,
  reportMalformed: ReportMalformed = () => {},
  checkHost: CheckHost = () => null,
): Promise<{ port: number; close: () => Promise<void> }> => {
  const lingering = createLingeringClose();
  const { answerUnparsable, refuse, refuseTunnel, answerClientError } = createMalformedHandlers(reportMalformed, lingering.endWith);
  const fetch = async (request: Request, bindings: unknown): Promise<Response> => {
    const response = await app.fetch(request, bindings as HttpBindings);
    const { incoming, outgoing } = bindings as HttpBindings;
    lingering.announce(incoming, outgoing);
    return response;
  };
  const respond = getRequestListener(fetch, { hostname: 'localhost', errorHandler: answerUnparsable });
  let isClosing = false;
  const onRequest: RequestListener = (incoming, outgoing) => {
    // Tell the client to close: one that sends many requests would otherwise lose its connection during one.
    if (isClosing) outgoing.setHeader('connection', 'close');
    lingering.watch(incoming, outgoing);
    const refusal = refusalFor(incoming) ?? checkHost(incoming.headers.host);
    void (refusal ? refuse(outgoing, refusal) : respond(incoming, outgoing));
  };
  const server = createServer(SERVER_OPTIONS, onRequest);
  server.on('clientError', (error, socket) => {
    // The rest of a refused request is dropped, whether it can be parsed or not.
    if (!lingering.isLingering(socket)) answerClientError(error, socket);
  });
  server.on('connect', refuseTunnel);
  // HTTP allows a server to ignore an unknown Expect header. Node would answer 417 without a problem document.
  server.on('checkExpectation', onRequest);
  return {
    port: await bind(server, address),
    close: () => {
      isClosing = true;
      return drain(server);
    },
  };
};
