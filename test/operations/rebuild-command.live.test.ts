// limit: 240 s for this file (test/run.ts)
import { join } from 'node:path';
import pg from 'pg';
import { test } from 'uvu';
import { equal, is, match } from 'uvu/assert';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import type { KillablePlatform } from '../faults/running-platform.ts';
import { mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const onPlatform = lentPlatform();

/** Runs a CLI command against a platform. @returns its exit code and its output */
const run = async ({ data, url }: KillablePlatform, ...words: readonly string[]): Promise<[number, string]> => {
  const running = startProgram(process.execPath, [mainFile, ...words], {
    env: { ...unconfiguredEnvironment(), ANNALS_DATA: data, ANNALS_URL: url },
  });
  return [(await running.ended) as number, running.output()];
};

type Event = { type: string; data: { projection?: string }; metadata: { actor: { kind: string; id: string } } };

/**
 * Returns the promotions of rebuilt projections that the log contains. Each has the name of the projection and the
 * actor.
 */
const promotions = async (platform: KillablePlatform): Promise<[string | undefined, string][]> => {
  const [, output] = await run(platform, 'replay');
  const events = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
  return events
    .filter(({ type }) => type === 'ProjectionPromoted')
    .map(({ data, metadata: { actor } }) => [data.projection, `${actor.kind} ${actor.id}`]);
};

const corruptPlans = async (platform: KillablePlatform): Promise<void> => {
  const client = new pg.Client({ connectionString: platform.serviceVariables().DATABASE_URL });
  await client.connect();
  await client.query(`update plans.plans set doc = '{}'`).finally(() => client.end());
};

test('annals rebuild records each promotion in the log; with --if-equal, it aborts the rebuild if the new rows differ from the live ones', () =>
  onPlatform(async (platform) => {
    const before = (await promotions(platform)).length;
    const since = async () => (await promotions(platform)).slice(before);
    const [code, output] = await run(platform, 'rebuild', 'plans');
    match(output, /^plans {2}rebuilt: 1 row compared, 0 differed$/m);
    is(code, 0);
    const actor = 'system annals rebuild';
    equal(await since(), [['plans', actor]]);

    await corruptPlans(platform);
    const [refused, difference] = await run(platform, 'rebuild', 'plans', '--if-equal');
    match(difference, /^plans {2}kept as it was: 1 row compared, 1 differed\n {2}plans .* differs in doc, /m);
    is(refused, 1);
    equal(await since(), [['plans', actor]]);

    const [repaired, repair] = await run(platform, 'rebuild', 'plans');
    match(repair, /^plans {2}rebuilt: 1 row compared, 1 differed/m);
    is(repaired, 0);
    is((await run(platform, 'rebuild', 'plans', '--if-equal'))[0], 0);
    equal(await since(), [
      ['plans', actor],
      ['plans', actor],
      ['plans', actor],
    ]);
  }));

test('after Ctrl-C, annals rebuild says that the worker continues the rebuild; another annals rebuild then waits for the end of that rebuild', () =>
  onPlatform(async (platform) => {
    is((await run(platform, 'rebuild', 'plans'))[0], 0);
    const worker = readPidFile(join(platform.data, 'run/work.pid'))!.pid;
    process.kill(worker, 'SIGSTOP');
    const { data, url } = platform;
    const rebuilding = startProgram(process.execPath, [mainFile, 'rebuild', 'plans'], {
      env: { ...unconfiguredEnvironment(), ANNALS_DATA: data, ANNALS_URL: url },
    });
    await rebuilding.waitForOutput(/^plans /m).finally(() => rebuilding.child.kill('SIGINT'));
    is(await rebuilding.ended, 130);
    process.kill(worker, 'SIGCONT');
    match(rebuilding.output(), /^annals: not waiting any longer: the worker continues to rebuild plans beside the current rows/m);
    const [code, output] = await run(platform, 'rebuild', 'plans', '--json');
    is(code, 0);
    const { projection, promoted, comparison } = JSON.parse(output);
    equal([projection, promoted, comparison.differing], ['plans', true, 0]);
  }));

test('with --json, annals verify and annals store verify print one line of JSON', () =>
  onPlatform(async (platform) => {
    const [code, rows] = await run(platform, 'verify', '--json');
    is(code, 0, rows);
    // On a busy machine, lines about the progress precede it on standard error.
    const { ok, projections } = JSON.parse(rows.trimEnd().split('\n').at(-1)!);
    equal([ok, projections.every(({ drifted }: { drifted: unknown[] }) => drifted.length === 0)], [true, true]);
    const [stored, report] = await run(platform, 'store', 'verify', '--json');
    is(stored, 0, report);
    const { damage, segments, index } = JSON.parse(report);
    equal([damage, segments >= 1, index], [[], true, null]);
  }));

test.run();
