import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Failure, plainText } from '../../infra/runner/failed-attempt.ts';
import { forwardHandler } from '../../infra/runner/forward-handler.ts';
import type { ReceivedEvent } from '../../infra/runner/receive-events.ts';
import { loadFactor } from '../fixtures/load-factor.ts';

const event = { specversion: '1.0', id: '00000000-0000-4000-8000-000000000001', subject: 's' } as const;
const received = { event, json: Buffer.from('{}'), attempt: 1, publishResult: async () => {} } as unknown as ReceivedEvent;

/** Forwards an event to a server that answers 503 with the first part of a body. */
const forwardToBusyServer = async (check: (failure: Failure, response: ServerResponse) => Promise<void>): Promise<void> => {
  const answered = Promise.withResolvers<ServerResponse>();
  const server = createServer((_, response) => {
    response.writeHead(503).write('the model is down');
    answered.resolve(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const failure = await forwardHandler({ url, timeoutMs: Math.ceil(10_000 * loadFactor()) })(received);
    assert.equal([failure!.reason, failure!.cause!.code], [`${url} answers 503`, 503]);
    await check(failure!, await answered.promise);
  } finally {
    server.closeAllConnections();
    server.close();
  }
};

test('the body of an answer is read after the failure is known, so that no negative acknowledgement waits for it', () =>
  forwardToBusyServer(async ({ cause }, response) => {
    response.end(', try later');
    const { text, part, isCut } = (await cause!.output)!;
    assert.equal([plainText(text), part, isCut], ['the model is down, try later', 'start', false]);
  }));

test('if a body does not end, the part that has arrived is reported, and the connection is closed', () =>
  forwardToBusyServer(async ({ cause }, response) => {
    const closed = new Promise((resolve) => response.once('close', resolve));
    const { text, isCut } = (await cause!.output)!;
    assert.equal([plainText(text), isCut], ['the model is down', true]);
    await closed;
  }));

test.run();
