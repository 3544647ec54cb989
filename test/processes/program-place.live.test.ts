import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { is, match } from 'uvu/assert';
import { checkout, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';

/** Runs `serve` in a copy of this checkout without settings, which ends with a message about the missing ones. */
const serveIn = async (dir: string): Promise<string> => {
  const program = startProgram(process.execPath, ['infra/main.ts', 'serve'], { cwd: dir, env: unconfiguredEnvironment() });
  await program.ended;
  return program.output();
};

test('a program that is not a checkout, as in the npm package, runs serve from the bundle beside its sources', () =>
  withTempDirectory(async (dir) => {
    const from = join(dir, 'package');
    checkout(from);
    rmSync(join(from, 'package-lock.json'));
    match(await serveIn(from), /EVENTSTORE_URL must be set/);
    mkdirSync(join(from, 'bundle'));
    writeFileSync(join(from, 'bundle/main.js'), "console.log('bundled', process.argv[2]);");
    is(await serveIn(from), 'bundled serve\n');
  }));

test('a checkout that cannot be copied runs from itself, and a line says why', () =>
  withTempDirectory(async (dir) => {
    const from = join(dir, 'checkout');
    checkout(from);
    writeFileSync(join(from, '.programs'), 'a file where the directory of the copies should be');
    match(
      await serveIn(from),
      /^annals: the program runs from .*checkout itself, because it could not be copied: EEXIST.*\n.*EVENTSTORE_URL/,
    );
  }));

test.run();
