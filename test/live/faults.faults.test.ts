// limit: 300 s for this file (test/run.ts)
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runTrial, TARGETS } from '../faults/trial.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const onPlatform = lentPlatform();

const KILLS = 2;
const PER_SECOND = 15;
/** A trial has two agents in each of two tenants, and each agent has a runner. */
const RUNNERS = 4;
const SHOWN = 5;

test('if any process is killed under load, no acknowledged delivery is lost or has two effects, and each runner gets its deliveries in order', () =>
  onPlatform(async (platform) => {
    const { findings, kills, figures } = await runTrial(platform, { kills: KILLS, perSecond: PER_SECOND });
    const first = Object.fromEntries(Object.entries(findings).map(([name, lines]) => [name, lines.slice(0, SHOWN)]));
    assert.equal(first, { lost: [], duplicated: [], unexpected: [], outOfOrder: [] }, JSON.stringify({ first, figures }, null, 2));
    assert.is(kills.length, KILLS * TARGETS.length);
    assert.is(figures['unknown at the end'], 0);
    assert.ok(figures['answered 503 or cut off']! > 0, 'no sender has noticed a kill');
    // Each kill of the broker can hide one acknowledgement of each runner for some time: the broker had received it, but
    // was killed before it reported it to the platform. The broker reports it only after it has delivered the message
    // again. So that many acknowledgements may be missing here.
    const missing = figures['events in the log']! - figures['acknowledgements in the log']!;
    assert.ok(missing <= KILLS * RUNNERS, `the log misses ${missing} acknowledgements`);
    assert.ok(figures['events in the log']! > 150, `only ${figures['events in the log']} deliveries were accepted`);
  }));

test.run();
