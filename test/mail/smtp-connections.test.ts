import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import * as assert from 'uvu/assert';
import { startSmtpReceiver } from '../../infra/mail/smtp-receiver.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const logger = { warn: () => {}, info: () => {} };
/** No message of this file reaches a recipient. */
const never = (): never => {
  throw new Error('not used');
};
const PORTS = { domain: 'mail.test', reads: { load: never, uniqueId: never }, intake: { guardrails: never, record: never } };

type Receiver = Awaited<ReturnType<typeof startSmtpReceiver>>;

const openReceiver = async (limits: object): Promise<Receiver> => {
  const parts = { ...PORTS, putFile: never, recordReport: never, enforceQuota: never, now: never };
  const receiver = await startSmtpReceiver({ ...parts, logger, limits, listen: { host: '127.0.0.1', port: 0 } } as never);
  afterTest(receiver.close);
  return receiver;
};

/** Connects from an address of this machine, and returns the socket and the code of the greeting. */
const greeted = async ({ port }: Receiver, localAddress: string): Promise<{ socket: Socket; code: number }> => {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  afterTest(async () => void socket.destroy());
  return { socket, code: await answerOf(socket) };
};

const answerOf = async (socket: Socket): Promise<number> => Number(String((await once(socket, 'data'))[0]).slice(0, 3));

test('an IP address that opens as many connections as it can leaves connections for other addresses', async () => {
  const receiver = await openReceiver({ maxConnections: 8 });
  const greedy = await Promise.all(Array.from({ length: 8 }, () => greeted(receiver, '127.0.0.1')));
  assert.equal(greedy.map(({ code }) => code).toSorted(), [220, 220, 220, 220, 421, 421, 421, 421]);
  const other = [await greeted(receiver, '127.0.0.2'), await greeted(receiver, '127.0.0.2'), await greeted(receiver, '127.0.0.2')];
  assert.equal(
    other.map(({ code }) => code),
    [220, 220, 421],
  );
  assert.is((await greeted(receiver, '127.0.0.3')).code, 220);
  assert.equal([receiver.status().open, receiver.status().refused], [7, 5]);
  const [first] = greedy.filter(({ code }) => code === 220);
  first!.socket.destroy();
  while (receiver.status().open > 6) await new Promise(setImmediate);
  assert.is((await greeted(receiver, '127.0.0.4')).code, 220, 'a closed connection is free for others');
});

test('a client that starts no message in time is disconnected, even if it sends other commands', async () => {
  const receiver = await openReceiver({ mailFromMs: 300 });
  const { socket } = await greeted(receiver, '127.0.0.1');
  let isOpen = true;
  socket.once('end', () => {
    isOpen = false;
  });
  let answers = '';
  socket.on('data', (bytes) => {
    answers += String(bytes);
  });
  while (isOpen) {
    if (socket.writable) socket.write('NOOP\r\n');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.match(answers, /^421 /m);
  assert.is(receiver.status().expired, 1);
});

test('a client that takes too long for one message is disconnected; RSET gives it no more time', async () => {
  const receiver = await openReceiver({ mailFromMs: 60_000, messageMs: 400 });
  const { socket } = await greeted(receiver, '127.0.0.1');
  let isOpen = true;
  socket.on('data', () => {});
  for (const event of ['end', 'error', 'close']) socket.once(event, () => (isOpen = false));
  socket.write('HELO x.example\r\n');
  for (; isOpen; await new Promise((resolve) => setTimeout(resolve, 20)))
    if (socket.writable) socket.write('MAIL FROM:<a@x.example>\r\nRSET\r\n');
  assert.is(receiver.status().expired, 1);
});

test.run();
