// limit: 400 s for this file (test/run.ts)

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match, not, ok } from 'uvu/assert';
import type { KillablePlatform } from '../faults/running-platform.ts';
import { createDataset } from '../faults/tenants.ts';
import { eventually, mainFile, type Program, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const onPlatform = lentPlatform();

const start = (platform: KillablePlatform, words: readonly string[], env: NodeJS.ProcessEnv = {}): Program =>
  startProgram(process.execPath, [mainFile, 'vault', ...words], {
    env: { ...unconfiguredEnvironment(), ANNALS_DATA: platform.data, ...env },
  });

const run = async (platform: KillablePlatform, words: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const program = start(platform, words, env);
  return { code: await program.ended, output: program.output() };
};

/**
 * Returns the environment of a CLI command on another machine: it has its own data directory, and reaches the
 * platform's services by URL.
 */
const onMachines = (platform: KillablePlatform): NodeJS.ProcessEnv => ({
  ...platform.serviceVariables(),
  ANNALS_DATA: join(platform.dir, 'another'),
  MASTER_KEY_FILE: join(platform.data, 'master.key'),
});

type Status = {
  readonly master: { readonly kid: string };
  readonly rotations: { readonly master: { readonly is_confirmed: boolean } | null };
};

const statusOf = async (platform: KillablePlatform): Promise<Status> => {
  const { code, output } = await run(platform, ['status', '--json']);
  is(code, 0, output);
  return JSON.parse(output) as Status;
};

const masterKey = ({ data }: KillablePlatform): string => readFileSync(join(data, 'master.key'), 'hex');

test('annals vault rotate exits with 2 and changes nothing unless it gets exactly one of --master, --tenant and --due', () =>
  onPlatform(async (platform) => {
    const before = masterKey(platform);
    for (const [words, problem] of [
      [[], 'say what to rotate: --master, --tenant <id> or --due'],
      [['--master', '--due'], 'say what to rotate'],
      [['--due', '--finish'], '--finish is only used with --master'],
      [['--tenant', 'nobody'], '--tenant must be a tenant id, or platform'],
    ] as const) {
      const { code, output } = await run(platform, ['rotate', ...words]);
      is(code, 2, output);
      ok(output.includes(problem), output);
    }
    const unknown = await run(platform, ['rotate', '--tenant', `c${'0'.repeat(24)}`]);
    equal([unknown.code, /^annals: there is no data key of c0+/m.test(unknown.output)], [1, true], unknown.output);
    const due = await run(platform, ['rotate', '--due']);
    equal([due.code, due.output], [0, 'no data key is older than 90 days\n']);
    is(masterKey(platform), before);
    not(existsSync(join(platform.data, 'master.key.next')));
  }));

test('with EVENTSTORE_URL, a rotation of the master key waits until the operator confirms with --finish that every machine has the next key', () =>
  onPlatform(async (platform) => {
    const env = onMachines(platform);
    const before = masterKey(platform);
    const early = await run(platform, ['rotate', '--master', '--finish'], env);
    equal([early.code, /^annals: no rotation of the master key is in progress/m.test(early.output)], [1, true], early.output);
    const prepared = await run(platform, ['rotate', '--master'], env);
    is(prepared.code, 0, prepared.output);
    match(prepared.output, /^copy \S+master\.key\.next to every machine/m);
    is(masterKey(platform), before);
    is((await statusOf(platform)).rotations.master?.is_confirmed, false);
    // The platform is waiting for the confirmation of the rotation. A key that is created now is encrypted with the new
    // master key when the rotation is finished.
    match((await run(platform, ['status'])).output, /^rotation .*: the new master key opens \d+ of \d+ keys; it waits for /m);
    const finished = await run(platform, ['rotate', '--master', '--finish'], env);
    is(finished.code, 0, finished.output);
    match(finished.output, /^scavenge every node of the event store now: curl/m);
    is.not(masterKey(platform), before);
    is((await statusOf(platform)).rotations.master, null);
    const { hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 });
    is(hooks.length, 1);
  }));

test('if the command that rotates a key is killed, the running worker completes the rotation, and the platform keeps working', () =>
  onPlatform(async (platform) => {
    const before = masterKey(platform);
    const killed = start(platform, ['rotate', '--master']);
    await killed.waitForOutput(/^waiting 15 s/m);
    await killed.stop('SIGKILL');
    is((await statusOf(platform)).rotations.master?.is_confirmed, true);
    await eventually('the worker completes it', async () => (await statusOf(platform)).rotations.master === null);
    is.not(masterKey(platform), before);
    const { hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 }, 'after');
    is(hooks.length, 1);
  }));

test.run();
