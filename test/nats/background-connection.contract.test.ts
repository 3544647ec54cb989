import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectInBackground } from '../../infra/nats/background-connection.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { waitUntil, withNatsServer } from '../fixtures/nats-server.ts';

test(
  'the background connection to NATS reports itself as unhealthy while the NATS server is down',
  withNatsServer(async ({ address, kill, start }) => {
    const connection = connectInBackground(address, silentLogger);
    assert.not(connection.isHealthy());
    await connection.whenConnected();
    for (let round = 0; round < 2; round++) {
      assert.ok(connection.isHealthy());
      await kill();
      await waitUntil(() => !connection.isHealthy(), 5_000, 'the disconnection');
      await start();
      await waitUntil(connection.isHealthy, 10_000, 'the reconnection');
    }
    await kill();
    await waitUntil(() => !connection.isHealthy(), 5_000, 'the disconnection');
    await connection.close();
    assert.not(connection.isHealthy());
    await start();
  }),
);

test.run();
