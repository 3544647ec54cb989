import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { bundleProgram, NOT_BUNDLED } from '../../infra/processes/bundle-program.ts';
import { BUNDLE, ENTRY_POINTS } from '../../infra/program.ts';
import { filesOf, withoutComments } from '../architecture/source-files.ts';
import { withTempDirectory } from '../fixtures/child-process.ts';

const DYNAMIC_IMPORT = /await import\('([^.'][^']*)'\)/g;

test('packages in CommonJS that are imported dynamically are not bundled, because their named exports would be lost', async () => {
  const files = ['api', 'commands', 'infra'].flatMap(filesOf);
  const names = new Set(files.flatMap((file) => [...withoutComments(file).matchAll(DYNAMIC_IMPORT)].map(([, name]) => name!)));
  equal(names.has('undici'), true);
  const bundled = [...names].filter((name) => !NOT_BUNDLED.includes(name));
  const modules = await Promise.all(bundled.map(async (name) => [name, Object.keys(await import(name))] as const));
  equal(
    modules.filter(([, exported]) => exported.includes('module.exports')).map(([name]) => name),
    [],
  );
});

test('a function in a bundle is what it is in the source: nothing else runs each time it is created', () =>
  withTempDirectory(async (dir) => {
    const source = 'const outer = () => {\n  const inner = () => 1;\n  return inner;\n};\n';
    for (const file of ENTRY_POINTS) {
      mkdirSync(join(dir, dirname(file)), { recursive: true });
      writeFileSync(join(dir, file), `${source}console.log(outer()());\n`);
    }
    bundleProgram(dir);
    const bundled = readdirSync(join(dir, BUNDLE)).filter((file) => file.endsWith('.js'));
    equal(
      bundled.filter((file) => !readFileSync(join(dir, BUNDLE, file), 'utf8').includes(source.replace('const outer', 'var outer'))),
      [],
    );
  }));

test.run();
