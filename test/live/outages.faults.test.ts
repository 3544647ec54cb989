// limit: 420 s for this file (test/run.ts)
import { test } from 'uvu';
import { equal, is, ok } from 'uvu/assert';
import { startClientRunner } from '../faults/client-runner.ts';
import { type Deployment, deploy, type OutageReport, runKills, runStoreOutage, runWholeOutage } from '../faults/outage-trial.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const SHOWN = 5;
const OPTIONS = { seconds: 8, perSecond: 15 };
const MAX_ANSWER_MS = 900;

const onPlatform = lentPlatform();

/**
 * Runs a trial with its own tenants on the platform that all tests of this file share. Asserts that no delivery was
 * lost, duplicated, refused or processed out of order.
 */
const trial = async (run: (deployment: Deployment) => Promise<OutageReport>) => {
  let figures: OutageReport['figures'] = {};
  await onPlatform(async (platform) => {
    const report = await run(await deploy(platform, startClientRunner));
    ({ figures } = report);
    const first = Object.fromEntries(Object.entries(report.findings).map(([name, lines]) => [name, lines.slice(0, SHOWN)]));
    equal(first, { lost: [], duplicated: [], unexpected: [], outOfOrder: [] }, JSON.stringify({ first, figures }, null, 2));
    is(figures['unanswered at the end'], 0);
    is(figures['in the log'], figures['sent deliveries']);
    is(figures["in the runners' ledgers"], figures['sent deliveries']);
  });
  return figures;
};

test('while the event store is frozen, every delivery is acknowledged in time, and reaches its runner once and in order afterwards', async () => {
  const figures = await trial((deployment) => runStoreOutage(deployment, 'frozen', OPTIONS));
  is(figures['unknown (503 or cut off)'], 0, JSON.stringify(figures));
  const limitMs = MAX_ANSWER_MS * loadFactor() + figures['longest stall of the sender, ms']!;
  ok(figures['slowest answer, ms']! < limitMs, JSON.stringify(figures));
});

test('while the event store and Postgres are frozen, deliveries are acknowledged in time; if the spool cannot be written either, they get 503 in time', async () => {
  const figures = await trial((deployment) => runWholeOutage(deployment, OPTIONS));
  is(figures['unknown while the spool worked'], 0, JSON.stringify(figures));
  ok(figures['answered 503 while it did not']! > 0);
});

test('a delivery that is in the spool when serve is killed, and that the provider sends again, is recorded once', async () => {
  const figures = await trial((deployment) => runKills(deployment, 3));
  ok(figures['kills between commit and answer']! > 0, JSON.stringify(figures));
});

test.run();
