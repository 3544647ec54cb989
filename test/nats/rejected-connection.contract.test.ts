import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectInBackground } from '../../infra/nats/background-connection.ts';
import { natsProcess } from '../../infra/nats/embedded-nats.ts';
import { type NatsServer, waitUntil, withNatsServer } from '../fixtures/nats-server.ts';

/** Starts a server on the same port that knows none of the platform's accounts. @returns a function that ends it */
const startStranger = async ({ address, dir }: NatsServer): Promise<() => Promise<unknown>> => {
  const { port } = new URL(address.natsUrl);
  const { command } = await natsProcess({ dir, port: Number(port) });
  const child = spawn(command, ['--addr', '127.0.0.1', '--port', port, '--user', 'other', '--pass', 'other'], { stdio: 'ignore' });
  return () => {
    child.kill('SIGKILL');
    return once(child, 'exit');
  };
};

test(
  'a connection that the broker has rejected again and again works as soon as the broker accepts it',
  withNatsServer(async (server) => {
    const warnings: string[] = [];
    const logger = { warn: (line: string) => void warnings.push(line) } as never;
    const connection = connectInBackground(server.address, logger);
    const nats = await connection.whenConnected();
    await server.kill();
    const endStranger = await startStranger(server);
    const later = connectInBackground(server.address, logger);
    await waitUntil(() => warnings.some((line) => /authorization violation/i.test(line)), 10_000, 'the warning');
    let rejections = 0;
    const statuses = nats!.status();
    void (async () => {
      for await (const { type } of statuses) if (type === 'reconnecting') rejections++;
    })();
    await waitUntil(() => rejections >= 4 || nats!.isClosed(), 10_000, 'the rejection');
    assert.not(nats!.isClosed(), 'the client has given up');
    await endStranger();
    await server.start();
    await waitUntil(() => connection.isHealthy() && later.isHealthy(), 10_000, 'the connections');
    await nats!.flush();
    await Promise.all([connection.close(), later.close()]);
  }),
);

test.run();
