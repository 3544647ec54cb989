// limit: 420 s for this file (test/run.ts)
import { test } from 'uvu';
import { equal, is, ok } from 'uvu/assert';
import { BROKER_OUTAGES, runBrokerDamage, runBrokerOutage } from '../faults/broker-faults.ts';
import { startClientRunner } from '../faults/client-runner.ts';
import { deploy, type OutageReport } from '../faults/outage-trial.ts';
import { runBadRunners, runRunnerKills } from '../faults/runner-faults.ts';
import type { KillablePlatform } from '../faults/running-platform.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const SHOWN = 5;
const CLEAN = { lost: [], duplicated: [], unexpected: [], outOfOrder: [] };

const onPlatform = lentPlatform();

/**
 * Runs a trial with its own tenants on the platform that all tests of this file share. Asserts that no delivery was
 * lost, duplicated, refused or processed out of order.
 */
const trial = async (run: (platform: KillablePlatform) => Promise<OutageReport>): Promise<OutageReport['figures']> => {
  let report: OutageReport | undefined;
  await onPlatform(async (platform) => {
    report = await run(platform);
  });
  const { findings, figures } = report!;
  const first = Object.fromEntries(Object.entries(findings).map(([name, lines]) => [name, lines.slice(0, SHOWN)]));
  equal(first, CLEAN, JSON.stringify({ first, figures }, null, 2));
  return figures;
};

for (const kind of BROKER_OUTAGES)
  test(`while the broker is ${kind}, senders get 202, and each delivery reaches its runner once afterwards`, async () => {
    const figures = await trial(async (platform) =>
      runBrokerOutage(await deploy(platform, startClientRunner), kind, { seconds: 5, perSecond: 12 }),
    );
    equal([figures['unknown (503 or cut off)'], figures.refused], [0, 0], JSON.stringify(figures, null, 2));
    ok(figures['sent during the outage']! > 20);
    is(figures["in the runners' ledgers"], figures['sent deliveries']);
  });

test('if a runner is killed after the effect of a delivery, the delivery reaches the runner again, but has no second effect', async () => {
  const figures = await trial((platform) => runRunnerKills(platform, 4));
  is(figures['kills after the effect'], 4);
  is(figures['runs of the handler'], figures['in the log']! + 4);
  is(figures["in the runners' ledgers"], figures['in the log']);
});

test('a delivery is given up after ten failed attempts; a slow runner gets each once and delays no other runner', async () => {
  const figures = await trial((platform) => runBadRunners(platform, { count: 2, slowMs: 5_000, ackWaitMs: 1_500 }));
  equal([figures['given up in the log'], figures['processed by the working runner'], figures['processed by the slow runner']], [4, 2, 2]);
});

// This test is the last one, because it removes the messages of the other trials, too.
test('deliveries that wait at the broker still reach their runners after the broker has lost all its files', async () => {
  const figures = await trial(async (platform) => runBrokerDamage(await deploy(platform, startClientRunner), 'removed', 30));
  equal([figures['in the log'], figures["in the runners' ledgers"]], [60, 60]);
});

test.run();
