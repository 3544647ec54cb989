import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { NOT_BUNDLED } from '../../infra/processes/bundle-program.ts';
import { filesOf, withoutComments } from '../architecture/source-files.ts';

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

test.run();
