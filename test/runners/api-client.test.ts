import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import type { Refusal } from '../../domain/refusal.ts';
import { apiClient, retryTransient } from '../../infra/runner/api-client.ts';
import { createOutageReport } from '../../infra/runner/outage-report.ts';

type Answer = (response: ServerResponse) => void;
type Use = (url: string, received: IncomingMessage[]) => Promise<void>;

const EMPTY: Answer = (response) => response.end('{}');

/** Starts a service that closes the connection of the first `closes` requests without an answer. */
const withService = async (closes: number, use: Use, answer: Answer = EMPTY): Promise<void> => {
  const received: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    received.push(request);
    if (received.length <= closes) request.socket.destroy();
    else answer(response);
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

const RESETS_AT = '2026-01-02T00:00:00.000Z';

/** Sends a request that is refused with 429 and this problem, until it is thrown or has been repeated once. */
const withRefusals = (problem: object, check: (refused: Refusal | null, sent: number, lines: readonly string[]) => void) =>
  withService(
    0,
    async (url, received) => {
      const lines: string[] = [];
      const api = apiClient({ url, key: 'k', outage: createOutageReport((line) => lines.push(line), 'again') });
      const stop = new AbortController();
      const work = () => POST(api).finally(() => received.length === 2 && stop.abort());
      const refused = await retryTransient(work, stop.signal).then(
        () => null,
        (error: Refusal) => error,
      );
      check(refused, received.length, lines);
    },
    (response) => response.writeHead(429).end(JSON.stringify({ ...problem, detail: 'no more' })),
  );

for (const [code, name] of [
  ['rate_limited', 'limit of a day'],
  ['budget_exceeded', 'budget'],
] as const)
  test(`a ${name} that is used up is thrown at once, with the time at which it ends`, () =>
    withRefusals({ code, resets_at: RESETS_AT }, (refused, sent, lines) => {
      assert.equal([refused?.code, refused?.extra.members, refused?.message], [code, { resets_at: RESETS_AT }, 'no more']);
      assert.equal([sent, lines], [1, []]);
    }));

test('too many requests in a short time are reported as an outage, and retried', () =>
  withRefusals({ code: 'rate_limited' }, (refused, sent, lines) => {
    assert.equal([refused?.code, refused?.extra.members, sent, lines], ['unavailable', undefined, 2, ['no more; trying again']]);
  }));

test.run();
