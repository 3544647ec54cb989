import { existsSync, globSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'uvu';
import { equal, ok } from 'uvu/assert';
import { variableNames } from '../../infra/config.ts';
import { VARIABLE_ROWS } from '../../infra/variable-descriptions.ts';
import { documentFiles, documentText } from '../fixtures/documents.ts';
import { root, textOf } from './source-files.ts';

const MAX_README_BYTES = 8 * 1024;
const MAX_PAGE_BYTES = 15_000;
const MAX_PICTURE_BYTES = 200_000;

const withoutCode = (text: string): string => text.replace(/^ *```.*?^ *```$/gms, '').replace(/`[^`\n]*`/g, '');

/** Returns the anchors of a page: its headings, as GitHub turns them into anchors. */
const anchorsOf = (file: string): string[] =>
  [
    ...documentText(file)
      .replace(/^```.*?^```$/gms, '')
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Returns the targets of the links of a page to this repository. */
const linksOf = (file: string): string[] =>
  [...withoutCode(documentText(file)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!).filter((target) => !/^\w+:/.test(target));

/** Returns the file and the anchor to which a link of a page leads. */
const resolved = (file: string, link: string): { target: string; anchor: string } => {
  const [path = '', anchor = ''] = link.split('#');
  return { target: path === '' ? file : normalize(join(dirname(file), path)), anchor };
};

const isBroken = (file: string, link: string): boolean => {
  const { target, anchor } = resolved(file, link);
  if (!existsSync(join(root, target))) return true;
  return anchor !== '' && !(documentFiles.includes(target) && anchorsOf(target).includes(anchor));
};

test('every relative link of the documentation leads to a file that exists, and its anchor to a heading', () => {
  ok(linksOf('README.md').length > 20, 'README.md has links');
  equal(
    documentFiles.flatMap((file) =>
      linksOf(file)
        .filter((link) => isBroken(file, link))
        .map((link) => `${file}: ${link}`),
    ),
    [],
  );
});

test('every file and folder of this repository that the documentation names exists', () => {
  const named = documentFiles.flatMap((file) => [
    ...documentText(file).matchAll(/`((?:api|commands|docs|domain|infra|projections|test)\/[\w./-]*)`/g),
  ]);
  ok(named.length > 30, `${named.length}`);
  equal(
    named.map(([, path]) => path!).filter((path) => !existsSync(join(root, path))),
    [],
  );
});

test('README.md links every page of the documentation', () => {
  const linked = new Set(linksOf('README.md').map((link) => resolved('README.md', link).target));
  equal(
    documentFiles.filter((file) => file !== 'README.md' && !linked.has(file)),
    [],
  );
});

test('README.md has at most 8 KB, and each page at most 15 KB', () =>
  equal(
    documentFiles.filter((file) => statSync(join(root, file)).size > (file === 'README.md' ? MAX_README_BYTES : MAX_PAGE_BYTES)),
    [],
  ));

test('every picture of the documentation exists, also its dark variant, and has at most 200 KB', () => {
  const named = documentFiles.flatMap((file) =>
    [...documentText(file).matchAll(/!\[[^\]]+\]\(([^)]+)\)|(?:src|srcset)="([^"]+)"/g)].map(([, link, source]) =>
      join(dirname(file), link ?? source!),
    ),
  );
  const all = new Set(named.flatMap((picture) => [picture, picture.replace('-light.', '-dark.')]));
  ok(all.size >= 6, `${all.size}`);
  equal(
    [...all].filter(
      (picture) => (statSync(join(root, picture), { throwIfNoEntry: false })?.size ?? Number.POSITIVE_INFINITY) > MAX_PICTURE_BYTES,
    ),
    [],
  );
  equal([...all].sort(), globSync('docs/pictures/*', { cwd: root }).sort());
});

/** Messages of the program name pages of the documentation, so that people find what to do. */
test('every page of docs/ that a source file names exists', () => {
  const sources = globSync('{api,commands,domain,infra,projections}/**/*.{ts,mjs}', { cwd: root });
  const named = sources.flatMap((file) => textOf(file).match(/\bdocs\/[a-z-]+\.md\b/g) ?? []);
  ok(named.length > 3, `${named}`);
  equal(
    named.filter((page) => !documentFiles.includes(page)),
    [],
  );
});

test('the table of environment variables in docs/configuration.md has the rows from which --help is made', () => {
  const expected = VARIABLE_ROWS.map(({ names, meaning, initial }) =>
    ['', names.map((name) => `\`${name}\``).join(', '), meaning, initial?.join(', ') ?? '', ''].join(' | ').replace(/ {2}/g, ' ').trim(),
  );
  const [, table = ''] = documentText('docs/configuration.md').split('| variable | meaning | default |\n|---|---|---|\n');
  equal(table.split('\n\n')[0]!.split('\n'), expected);
});

test('the described environment variables are exactly those that the code reads', () =>
  equal(VARIABLE_ROWS.flatMap(({ names }) => names).sort(), [...variableNames].sort()));

test.run();
