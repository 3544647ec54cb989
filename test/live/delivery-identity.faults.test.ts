// limit: 420 s for this file (test/run.ts)
import { test } from 'uvu';
import { equal, is, ok } from 'uvu/assert';
import { startClientRunner } from '../faults/client-runner.ts';
import { runConcurrentCopies, runLateRedeliveries, runSimilarIds, startOtherProcesses } from '../faults/delivery-id-faults.ts';
import { type Deployment, deploy, type OutageReport } from '../faults/outage-trial.ts';
import { sharedByTests } from '../faults/platform.ts';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { runSecretRotations } from '../faults/secret-rotation.ts';
import { repeatIfBusy } from '../fixtures/load-factor.ts';
import { withProcessPlatform } from '../fixtures/process-platform.ts';

const SHOWN = 5;
const CLEAN = { lost: [], duplicated: [], unexpected: [], outOfOrder: [] };

const onPlatform = sharedByTests<RunningPlatform>(withProcessPlatform);

let started: Promise<string[]> | undefined;

/** Returns the base URLs of the API processes that the tests of this file share, besides that of the platform. */
const others = ({ platform }: Deployment<RunningPlatform>): Promise<string[]> => {
  started ??= startOtherProcesses(platform);
  return started;
};

/**
 * Runs a trial with its own tenants on the platform that all tests of this file share. Asserts that no delivery was
 * lost, duplicated, wrongly answered or processed out of order.
 */
const trial = async (run: (deployment: Deployment<RunningPlatform>) => Promise<OutageReport>): Promise<OutageReport['figures']> => {
  let report: OutageReport | undefined;
  await onPlatform(async (platform) => {
    report = await run(await deploy(platform, startClientRunner));
  });
  const { findings, figures } = report!;
  const first = Object.fromEntries(Object.entries(findings).map(([name, lines]) => [name, lines.slice(0, SHOWN)]));
  equal(first, CLEAN, JSON.stringify({ first, figures }, null, 2));
  return figures;
};

test('if 100 copies of a delivery reach four processes at the same moment, one copy is accepted, and the delivery has one effect', async () => {
  const figures = await trial(async (deployment) => runConcurrentCopies(deployment, await others(deployment), 2));
  equal([figures['acknowledged with 202']! + figures['acknowledged with 200']!, figures['at the runners (effects)']], [200, 2]);
});

test('delivery ids that differ in case or inner spaces, or belong to different integrations, count as different; ids that are too long are refused', async () => {
  const figures = await trial((deployment) => runSimilarIds(deployment, 12));
  is(figures['at the runners (effects)'], figures['sent deliveries']);
  ok(figures['malformed ids']! > 0);
});

test('after a secret rotation, deliveries with the old and with the new secret are accepted until the overlap ends; then only those with the new one are', () =>
  repeatIfBusy(async () => {
    const figures = await trial((deployment) => runSecretRotations(deployment, { rotations: 1, overlapSeconds: 4, perSecond: 20 }));
    ok(figures['requests during the overlap']! > 20, JSON.stringify(figures));
    ok(figures['refused with the old secret']! > 5, JSON.stringify(figures));
  }));

// This test is the last one, because it starts processes whose clocks are ahead.
test('a redelivery at the same moment, after a second, after three days or after 89 days is acknowledged without an effect', async () => {
  const figures = await trial(async (deployment) => runLateRedeliveries(deployment, (await others(deployment))[0]!, 3));
  equal([figures['acknowledged with 202']! + figures['acknowledged with 200']!, figures['at the runners (effects)']], [15, 3]);
});

test.run();
