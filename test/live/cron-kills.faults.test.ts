// limit: 240 s for this file (test/run.ts)
import { test } from 'uvu';
import { equal, is, ok } from 'uvu/assert';
import { runCronKills, withCronTarget } from '../faults/cron-kills.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const KILLS = 5;
const onPlatform = lentPlatform();

test('if the worker is killed while cron jobs fire, exactly one decision is recorded for each occurrence, and a repeated call has the same key and body', () =>
  onPlatform((platform) =>
    withCronTarget(async (target) => {
      const { findings, figures } = await runCronKills(platform, target, KILLS);
      equal(findings, { lost: [], duplicated: [], unexpected: [], outOfOrder: [] }, JSON.stringify({ findings, figures }, null, 2));
      is(figures['decisions in the log'], figures['jobs that were due once']);
      ok(figures['calls of the target']! > 0);
    }, platform.ports.target),
  ));

test.run();
