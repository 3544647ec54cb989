import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, fixture } from 'uvu/assert';
import { clientDeclarations } from '../../infra/packages/client-declarations.ts';
import { root } from '../fixtures/child-process.ts';

const FILE = join(import.meta.dirname, 'client-surface.txt');

/** The types of the package annals-client, without comments, one member a line. */
const surface = (): string =>
  Object.entries(clientDeclarations())
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, text]) => `// ${name}\n${text.replace(/\/\*\*[\s\S]*?\*\/\s*|^\s*\/\/.*\n/gm, '').replace(/^import .*\n/gm, '')}`)
    .join('\n');

test('the types of annals-client have not changed, or the change is accepted', () => {
  const actual = surface();
  if (process.env.UPDATE_SURFACE === '1') writeFileSync(FILE, actual);
  fixture(
    actual,
    readFileSync(FILE, 'utf8'),
    'users of annals-client see this change: say in docs/changelog.md what they have to do, raise the version if it breaks programs, ' +
      'then accept it with UPDATE_SURFACE=1 npm test -- packages/client-surface',
  );
});

test('the OpenAPI document and the newest entry of the changelog have the version of package.json', () => {
  const read = (file: string): string => readFileSync(join(root, file), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { version: string };
  equal([/^## (.*)$/m.exec(read('docs/changelog.md'))![1], /version: '(.*)'/.exec(read('api/http/openapi.ts'))![1]], [version, version]);
});

test.run();
