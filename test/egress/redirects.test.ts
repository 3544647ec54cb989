import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as assert from 'uvu/assert';
import { EgressError } from '../../infra/egress/egress-error.ts';
import { createGuardedClient } from '../../infra/egress/guarded-client.ts';
import type { EgressRequest } from '../../infra/egress/redirect.ts';
import { openCanary } from '../fixtures/canary-listener.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Starts an HTTP server on the loopback address for the current test. @returns its port */
const openServer = async (answer: Answer): Promise<number> => {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  afterTest(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

const redirectTo =
  (location: string, status = 302): Answer =>
  (_, response) =>
    void response.writeHead(status, { location }).end('moved');

const failureOf = async (port: number, request: Partial<EgressRequest> = {}): Promise<string> => {
  const client = createGuardedClient({ allow: [`127.0.0.1:${port}`], connectTimeoutMs: 300 });
  afterTest(client.close);
  try {
    const { bytes } = await client.read({ url: `http://127.0.0.1:${port}/`, ...request });
    return Buffer.from(bytes).toString();
  } catch (error) {
    return error instanceof EgressError ? error.failure : `${error}`;
  }
};

const FORBIDDEN_TARGETS = [
  'http://127.0.0.1:PORT/',
  '//127.0.0.1:PORT/',
  'https://127.0.0.1:PORT/',
  'http://localhost:PORT/',
  'http://[::1]:PORT/',
  'http://2130706433:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://user@127.0.0.1:PORT/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:PORT/',
  'http://169.254.169.254/latest/meta-data/',
];

test('a redirect to a host that is not allowed is not followed', async () => {
  const canary = await openCanary();
  const outcomes = [];
  for (const target of FORBIDDEN_TARGETS) {
    const port = await openServer(redirectTo(target.replace('PORT', `${canary.port}`)));
    outcomes.push([target, await failureOf(port)]);
  }
  assert.equal(
    outcomes,
    FORBIDDEN_TARGETS.map((target) => [target, 'forbidden']),
  );
  assert.is(canary.connections(), 0);
});

test('a request follows at most three redirects', async () => {
  const chain: Answer = ({ url }, response) => {
    const left = Number(url?.slice(1)) || 0;
    return left > 0 ? redirectTo(`/${left - 1}`)({} as IncomingMessage, response) : void response.end('arrived');
  };
  const port = await openServer(chain);
  assert.is(await failureOf(port, { url: `http://127.0.0.1:${port}/3` }), 'arrived');
  assert.is(await failureOf(port, { url: `http://127.0.0.1:${port}/4` }), 'bad_response');
});

test('a POST request is repeated at the target of a 307 redirect, but not at the target of a 302 redirect', async () => {
  const answer =
    (status: number): Answer =>
    (request, response) => {
      if (request.url === '/') return redirectTo('/target', status)(request, response);
      void request.toArray().then((chunks) => response.end(`${request.method} ${Buffer.concat(chunks)}`));
    };
  assert.is(await failureOf(await openServer(answer(307)), { method: 'POST', body: 'content' }), 'POST content');
  assert.is(await failureOf(await openServer(answer(302)), { method: 'POST', body: 'content' }), 'bad_response');
});

test('credentials are sent only to the first host of a request, not to the targets of redirects', async () => {
  const seen: (string | undefined)[] = [];
  const target = await openServer(({ headers }, response) => {
    seen.push(headers.authorization, headers.cookie, headers['x-other'] as string);
    response.end('target');
  });
  const first = await openServer(redirectTo(`http://127.0.0.1:${target}/`));
  const client = createGuardedClient({ allow: ['127.0.0.1'] });
  afterTest(client.close);
  const headers = { Authorization: 'Bearer secret', Cookie: 'secret', 'X-Other': 'kept' };
  const { bytes, url } = await client.read({ url: `http://127.0.0.1:${first}/`, headers });
  assert.equal([`${Buffer.from(bytes)}`, url], ['target', `http://127.0.0.1:${target}/`]);
  assert.equal(seen, [undefined, undefined, 'kept']);
});

test.run();
