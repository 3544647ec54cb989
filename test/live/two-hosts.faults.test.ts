// limit: 600 s for this file (test/run.ts)

import { test } from 'uvu';
import { equal, is, ok } from 'uvu/assert';
import type { Findings } from '../faults/checker.ts';
import { startClientRunner } from '../faults/client-runner.ts';
import { withMovingStore } from '../faults/moving-store.ts';
import { deploy, runStoreOutage } from '../faults/outage-trial.ts';
import { sharedByTests } from '../faults/platform.ts';
import { runTrial } from '../faults/trial.ts';

const SHOWN = 5;
const PER_SECOND = 12;
/** The processes whose clients move with the event store. test/live/faults.faults.test.ts kills the others, too. */
const TARGETS = ['store', 'serve', 'work'] as const;
const onPlatform = sharedByTests(withMovingStore);

const assertClean = (findings: Findings, figures: object): void => {
  const first = Object.fromEntries(Object.entries(findings).map(([name, lines]) => [name, lines.slice(0, SHOWN)]));
  equal(first, { lost: [], duplicated: [], unexpected: [], outOfOrder: [] }, JSON.stringify({ first, figures }, null, 2));
};

test('if processes are killed and the event store moves to the other host of its URL and back, no delivery is lost or has two effects', () =>
  onPlatform(async (platform) => {
    const { findings, kills, figures } = await runTrial(platform, { kills: 2, targets: TARGETS, perSecond: PER_SECOND });
    assertClean(findings, figures);
    is(kills.length, 2 * TARGETS.length);
    is(figures['unknown at the end'], 0);
    ok(figures['events in the log']! > 50, `only ${figures['events in the log']} deliveries were accepted`);
  }));

test('if no host of the URL answers for ten seconds, the same processes record every spooled delivery afterwards', () =>
  onPlatform(async (platform) => {
    const { findings, figures } = await runStoreOutage(await deploy(platform, startClientRunner), 'killed', {
      seconds: 10,
      perSecond: PER_SECOND,
    });
    assertClean(findings, figures);
    is(figures['unanswered at the end'], 0);
    is(figures['in the log'], figures['sent deliveries']);
    is(figures["in the runners' ledgers"], figures['sent deliveries']);
  }));

test.run();
