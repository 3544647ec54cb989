// limit: 120
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match, not } from 'uvu/assert';
import { mainFile, type Platform, withPlatform } from '../faults/platform.ts';
import { eventually, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';

/** Runs a command of the CLI on a platform. @returns its exit code and its output */
const runCommand = async ({ data, url }: Platform, words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<[number, string]> => {
  const running = startProgram(process.execPath, [mainFile, ...words], {
    env: { ...unconfiguredEnvironment(), ANNALS_DATA: data, ANNALS_URL: url, ...env },
  });
  return [(await running.ended) as number, running.output()];
};

const failures = (output: string): string[] => [...output.matchAll(/^FAIL +(event store|master key|\S+)/gm)].map(([, what]) => what!);

test('annals doctor checks every part, and exits with code 1 if the master key is not the one that encrypted the keys in the log', () =>
  withPlatform(async (platform) => {
    await eventually('every check passes', async () => (await runCommand(platform, ['doctor']))[0] === 0);
    const [, healthy] = await runCommand(platform, ['doctor']);
    match(healthy, /^ok +NATS +version/m);
    const other = join(platform.data, 'other.key');
    writeFileSync(other, randomBytes(32), { mode: 0o600 });
    const [code, wrong] = await runCommand(platform, ['doctor'], { MASTER_KEY_FILE: other });
    is(code, 1);
    equal(failures(wrong), ['master key']);
    match(wrong, 'is not the one that wrapped');
  }));

test('on a stopped platform, annals doctor names the services that are down, and other commands name annals doctor', () =>
  withPlatform(async (platform) => {
    await platform.stop();
    const [code, output] = await runCommand(platform, ['doctor']);
    is(code, 1);
    equal(failures(output), ['event store', 'Postgres', 'NATS', 'service']);
    not.match(output, /_URL|parked|Resolution/);
    for (const words of [['verify'], ['replay'], ['rebuild', 'agents']]) {
      const [exitCode, message] = await runCommand(platform, words);
      is(exitCode, 1);
      match(
        message,
        /^annals: the platform does not answer \(connect ECONNREFUSED [\d.:]+\): start it, or run annals doctor to find the cause\n$/,
      );
    }
  }));

test.run();
