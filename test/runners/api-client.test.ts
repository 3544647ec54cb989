import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { apiClient } from '../../infra/runner/api-client.ts';
import { createOutageReport } from '../../infra/runner/outage-report.ts';

/** Starts a service that closes the connection of the first `closes` requests without an answer. */
const withService = async (closes: number, use: (url: string, received: IncomingMessage[]) => Promise<void>): Promise<void> => {
  const received: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    received.push(request);
    if (received.length <= closes) request.socket.destroy();
    else response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, received);
  } finally {
    server.close();
    server.closeAllConnections();
  }
};

type Client = ReturnType<typeof apiClient>;

const READ = (api: Client) => api.get(z.object({}), '/x');
const PAGE = (api: Client) => api.page('/x');
const POST = (api: Client) => api.post(z.object({}), '/x', { body: {}, idempotencyKey: 'one' });
const CREDENTIAL = (api: Client) => api.credential({ tenant: 't', agent: 'a', slug: 's', hasRunnerKey: true });

for (const [name, call, closes, sent, isAnswered] of [
  ['a read', READ, 1, 2, true],
  ['a page of a list', PAGE, 1, 2, true],
  ['a POST request with an Idempotency-Key', POST, 1, 2, true],
  ['a read whose second connection is closed, too,', READ, 2, 2, false],
  ['a POST request that has no Idempotency-Key', CREDENTIAL, 1, 1, false],
] as const)
  test(`${name} is ${isAnswered ? 'sent once more and answered' : 'reported as an outage'} if the service closes the connection`, () =>
    withService(closes, async (url, received) => {
      const lines: string[] = [];
      const api = apiClient({ url, key: 'k', outage: createOutageReport((line) => lines.push(line), 'again') });
      const code = await call(api).then(
        () => 'answered',
        (error: { code?: string }) => error.code,
      );
      assert.equal([received.length, code], [sent, isAnswered ? 'answered' : 'unavailable']);
      assert.equal(lines, isAnswered ? [] : [`${url} does not answer: UND_ERR_SOCKET; trying again`]);
    }));

test.run();
