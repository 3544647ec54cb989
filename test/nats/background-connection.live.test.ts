import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectInBackground } from '../../infra/nats/background-connection.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { waitUntil, withNatsServer } from '../fixtures/nats-server.ts';

test(
  'a broker that is gone counts as away until it is there again',
  withNatsServer(async ({ address, kill, start }) => {
    const later = connectInBackground(address, silentLogger);
    assert.not(later.healthy());
    await later.whenConnected();
    for (let round = 0; round < 2; round++) {
      assert.ok(later.healthy());
      await kill();
      await waitUntil(() => !later.healthy(), 5_000, 'the loss');
      await start();
      await waitUntil(later.healthy, 10_000, 'the return');
    }
    await kill();
    await waitUntil(() => !later.healthy(), 5_000, 'the loss');
    await later.close();
    assert.not(later.healthy());
    await start();
  }),
);

test.run();
