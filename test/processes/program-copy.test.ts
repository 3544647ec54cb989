import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, not, throws } from 'uvu/assert';
import { bundleProgram } from '../../infra/processes/bundle-program.ts';
import { copyProgram as copyAndBundle } from '../../infra/processes/program-copy.ts';
import { ENTRY_POINTS } from '../../infra/program.ts';
import { startProgram, withTempDirectory } from '../fixtures/child-process.ts';

/** Copies a program without a bundle. The programs of these tests cannot be bundled. */
const copyProgram = (root: string, pid: number): string => copyAndBundle(root, pid, () => {});

const write = (dir: string, file: string, text = file): void => {
  mkdirSync(join(dir, file, '..'), { recursive: true });
  writeFileSync(join(dir, file), text);
};

const PACKAGES = { '': {}, 'node_modules/a': {}, 'node_modules/a/node_modules/b': {}, 'node_modules/for-tests': { dev: true } };

const checkoutOf = (dir: string): void => {
  for (const file of ['infra/main.ts', 'api/console-routes.ts', 'README.md', 'docs/tour.md', 'node_modules/.package-lock.json'])
    write(dir, file);
  for (const file of ['a/index.js', 'a/index.d.ts', 'a/node_modules/b/index.js', 'for-tests/index.js', '.cache/annals/nats-server'])
    write(dir, `node_modules/${file}`);
  write(dir, 'package-lock.json', JSON.stringify({ packages: PACKAGES }));
};

const isThere = (copy: string, ...files: string[]): boolean[] => files.map((file) => existsSync(join(copy, file)));

/** Returns the id of a process that runs until the end of the test, and a function that ends it. */
const runningProcess = (): { pid: number; end: () => Promise<unknown> } => {
  const program = startProgram('/bin/sleep', ['60']);
  return { pid: program.child.pid!, end: program.stop };
};

test('a copy has the sources, the packages and nats-server, but nothing that only tests or compilers read', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir);
    const copy = copyProgram(dir, process.pid);
    const needed = ['infra/main.ts', 'api/console-routes.ts', 'node_modules/a/index.js', 'node_modules/a/node_modules/b/index.js'];
    equal(isThere(copy, ...needed, 'node_modules/.cache/annals/nats-server'), [true, true, true, true, true]);
    equal(isThere(copy, 'README.md', 'docs/tour.md'), [true, true]);
    equal(isThere(copy, 'node_modules/for-tests', 'node_modules/a/index.d.ts'), [false, false]);
  }));

test('a copy keeps its sources and packages when those of the checkout are changed or deleted', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir);
    const copy = copyProgram(dir, process.pid);
    rmSync(join(dir, 'node_modules'), { recursive: true });
    rmSync(join(dir, 'api'), { recursive: true });
    write(dir, 'infra/main.ts', 'another version');
    is(readFileSync(join(copy, 'infra/main.ts'), 'utf8'), 'infra/main.ts');
    equal(isThere(copy, 'api/console-routes.ts', 'node_modules/a/index.js', 'node_modules/.cache/annals/nats-server'), [true, true, true]);
  }));

test('processes share a copy of the same version; a copy of another version waits until nothing uses its place', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir);
    const [one, other] = [runningProcess(), runningProcess()];
    const copy = copyProgram(dir, one.pid);
    is(copyProgram(dir, other.pid), copy);
    write(dir, 'infra/main.ts', 'another version');
    rmSync(join(dir, 'api/console-routes.ts'));
    const next = copyProgram(dir, process.pid);
    not.equal(next, copy);
    equal(isThere(copy, 'api/console-routes.ts'), [true]);
    await Promise.all([one.end(), other.end()]);
    write(dir, 'infra/main.ts', 'a third version');
    is(copyProgram(dir, process.pid), copy);
    is(readFileSync(join(copy, 'infra/main.ts'), 'utf8'), 'a third version');
    equal(isThere(copy, 'api/console-routes.ts'), [false]);
  }));

test('if the installed packages have changed, they are linked again; an interrupted copy is made again from the start', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir);
    const first = runningProcess();
    const copy = copyProgram(dir, first.pid);
    await first.end();
    rmSync(join(dir, 'node_modules/a'), { recursive: true });
    write(dir, 'node_modules/a/new.js');
    write(dir, 'node_modules/.package-lock.json', 'another lock file');
    const second = runningProcess();
    is(copyProgram(dir, second.pid), copy);
    equal(isThere(copy, 'node_modules/a/new.js', 'node_modules/a/index.js'), [true, false]);
    await second.end();
    rmSync(join(copy, 'contents.json'));
    write(copy, 'infra/remains.ts');
    is(copyProgram(dir, process.pid), copy);
    equal(isThere(copy, 'infra/main.ts', 'infra/remains.ts'), [true, false]);
  }));

test('a copy whose bundling failed is bundled by the first later start that finds it unused', () =>
  withTempDirectory(async (dir) => {
    checkoutOf(dir);
    for (const entry of ENTRY_POINTS) write(dir, entry, "import 'a/late.js';");
    const lines: string[] = [];
    const { error } = console;
    console.error = (line: string) => void lines.push(line);
    try {
      const [one, other] = [runningProcess(), runningProcess()];
      const copy = copyAndBundle(dir, one.pid);
      write(copy, 'node_modules/a/late.js', 'console.log(1);');
      is(copyAndBundle(dir, other.pid), copy);
      equal(isThere(copy, 'bundle'), [false]);
      await Promise.all([one.end(), other.end()]);
      is(copyAndBundle(dir, process.pid), copy);
      equal(isThere(copy, 'bundle/main.js', 'contents.json'), [true, true]);
      is(copyAndBundle(dir, process.pid), copy);
      equal(
        lines.map((line) => /^annals: the program is not bundled, .*: (?:.*late\.js|other processes run from)/s.test(line)),
        [true, true],
        lines.join('\n'),
      );
    } finally {
      console.error = error;
    }
  }));

test('bundling leaves the environment variables of the process as they were', () =>
  withTempDirectory(async (dir) => {
    const env = { ...process.env };
    throws(() => bundleProgram(dir));
    equal({ ...process.env }, env);
  }));

test.run();
