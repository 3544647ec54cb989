import * as assert from 'uvu/assert';
import { createRedeliveryComparison } from '../../infra/deliveries/redelivery-comparison.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const INTEGRATIONS = ['one', 'two'];

test('redeliveries that come while the log is unavailable give one line a minute for each integration', async () => {
  const log = openLog(`esdb://127.0.0.1:${await freePort()}?tls=false`);
  afterTest(log.close);
  const lines: { source: string }[] = [];
  const logger = { warn: (fields: { source: string }) => void lines.push(fields) } as never;
  const comparison = createRedeliveryComparison({ log, logger, now: () => '2026-01-01T00:00:00.000Z' });
  for (let n = 0; n < 20; n++)
    for (const id of INTEGRATIONS)
      comparison.compareLater({ integration: { id, tenant_id: 'acme' }, id: String(n), facts: { sha256: 'x', size_bytes: 1 } } as never);
  await comparison.close();
  assert.equal(lines.map(({ source }) => source).sort(), INTEGRATIONS);
});

test.run();
