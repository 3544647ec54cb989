import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, ok } from 'uvu/assert';
import { documentText } from '../fixtures/documents.ts';
import { filesOf, importsOf, root } from './source-files.ts';

type Overrides = Readonly<Record<string, Readonly<Record<string, string>>>>;
type Project = Readonly<Record<'dependencies' | 'optionalDependencies' | 'devDependencies', Readonly<Record<string, string>>>> & {
  readonly overrides: Overrides;
};

const project = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Project;
const MAX_OVERRIDES = 5;

/** Returns the first cells of the table in a section of docs/dependencies.md. */
const rowsOf = (heading: string): string[] => {
  const [, section = ''] = documentText('docs/dependencies.md').split(`## ${heading}\n`);
  return [...section.split(/^## /m)[0]!.matchAll(/^\| (`.*?) \|/gm)].map(([, cell]) => cell!);
};

const unquoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);

test('docs/dependencies.md explains every package that the platform needs at run time, and no other', () =>
  equal(rowsOf('Packages of the platform').flatMap(unquoted), Object.keys(project.dependencies).sort()));

test('docs/dependencies.md explains every package with binaries', () => {
  const prefixes = rowsOf('Binaries')
    .flatMap(unquoted)
    .map((name) => name.replace('*', ''));
  const optional = Object.keys(project.optionalDependencies);
  equal(
    optional.filter((name) => !prefixes.some((prefix) => name.startsWith(prefix))),
    [],
  );
  equal(
    prefixes.filter((prefix) => !optional.some((name) => name.startsWith(prefix))),
    [],
  );
});

test('there are at most five overrides, each with a reason, and none replaces a package with another one', () => {
  const overrides = Object.entries(project.overrides).flatMap(([by, replaced]) =>
    Object.entries(replaced).map(([name, version]) => ({ cell: `\`${by}\` → \`${name}\``, version })),
  );
  ok(overrides.length <= MAX_OVERRIDES);
  equal(
    rowsOf('Overrides'),
    overrides.map(({ cell }) => cell),
  );
  equal(
    overrides.filter(({ version }) => version.startsWith('npm:')),
    [],
  );
});

/** Packages that other packages of the platform load, or whose files are read and not imported. */
const NOT_IMPORTED = [
  ...['@fontsource-variable/geist', '@fontsource-variable/geist-mono', '@github/relative-time-element', '@iconify-json/lucide'],
  ...['@octokit/webhooks-examples', '@scalar/fastify-api-reference', 'esbuild', 'idiomorph'],
];

const packageOf = (name: string): string => name.split('/', name.startsWith('@') ? 2 : 1).join('/');

test('the sources use every package that the platform needs at run time', () => {
  const imported = new Set(['domain', 'commands', 'projections', 'api', 'infra'].flatMap(filesOf).flatMap(importsOf).map(packageOf));
  equal(
    Object.keys(project.dependencies).filter((name) => !imported.has(name) && !NOT_IMPORTED.includes(name)),
    [],
  );
});

test.run();
