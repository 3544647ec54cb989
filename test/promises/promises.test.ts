import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, ok } from 'uvu/assert';
import { root } from '../fixtures/child-process.ts';
import { documentedSections, type Promised, promises } from './promises.ts';

/** The number of promises that no test proves. It may only become smaller. */
const MAX_UNPROVEN = 14;

/** The sections that promise nothing, with the reason. */
const WITHOUT_PROMISES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...['Audit proofs: what a signed head covers', 'Fairness: what one tenant, address or stranger may take', 'Webhook providers'],
      ...['Inputs: what providers, mail programs and people send', 'Reactors: positions, start, database sessions', 'Webhooks'],
      ...[
        'Budgets, costs and payments',
        'Clusters',
        'Contributing',
        'Operations',
        'Performance',
        'Runners',
        'Sessions and benchmarks',
        'The HTTP API',
      ],
      ...['Signing in, API keys and members', 'Skills, tools, memory and repositories', 'The audit log', 'Upgrade and uninstall'],
    ].map((title) => [title, 'says what the page is about']),
  ),
  'Add a field': 'says what a developer does',
  'Add a resource': 'says what a developer does',
  Release: 'says what a developer does',
  ...Object.fromEntries(
    ['Packages of the platform', 'Binaries', 'Overrides', 'Tools of the packages and tests'].map((title) => [
      title,
      'says why a package was chosen',
    ]),
  ),
  ...Object.fromEntries(['Changelog', '0.1.0'].map((title) => [title, 'says what has changed'])),
  Glossary: 'says what words mean',
  'Mechanisms: streams, projections, reactors, keys': 'says what the page is about',
  'Names that never change': 'says what a developer does',
  'Keys and erasure': 'says how the code does what Data at rest promises',
};

const listed = promises();
const sections = documentedSections();

/** Returns the findings that these promises lead to, each with its promise. */
const findings = (find: (promise: Promised) => string | undefined): string[] =>
  listed.flatMap((promise) => {
    const found = find(promise);
    return found === undefined ? [] : [`${promise.at}: ${promise.says}: ${found}`];
  });

test('every listed promise is in the documentation under its heading, word for word', () =>
  equal(
    findings(({ at, says }) => {
      const under = sections.filter(({ heading }) => heading === at);
      if (under.length === 0) return 'there is no such heading';
      return under.some(({ text }) => text.includes(says)) ? undefined : 'the section does not say so';
    }),
    [],
    'if a sentence was changed, change it in promises.jsonl, too, with a test that proves what it says now',
  ));

const texts = new Map<string, string>();
const textOf = (file: string): string => {
  if (!texts.has(file)) texts.set(file, readFileSync(join(root, file), 'utf8'));
  return texts.get(file)!;
};

/** Whether a file has a test with this name: as the first value of a call of a function for tests, or of a table. */
const hasTest = (file: string, name: string): boolean => {
  const before = /(?:\w*[tT]est(?:\.\w+)?\(|\b(?:live|run|onPlatform)\(|\bname:)\s*$/;
  return ["'", '"', '`'].some((quote) => {
    const [start, ...others] = textOf(file).split(`${quote}${name}${quote}`);
    return others.length > 0 && before.test(start!.slice(-80));
  });
};

test('every listed promise names a test that exists, or says why no test proves it', () =>
  equal(
    findings(({ file, test: name, unproven }) => {
      if (unproven !== undefined) return file ?? name;
      if (file === undefined || name === undefined) return 'names no test';
      if (!existsSync(join(root, file))) return `there is no file ${file}`;
      return hasTest(file, name) ? undefined : `${file} has no test with the name ${name}`;
    }),
    [],
  ));

test('the number of promises without a test does not increase', () => {
  const unproven = listed.filter((promise) => promise.unproven !== undefined);
  ok(unproven.length <= MAX_UNPROVEN, unproven.map(({ at, says }) => `${at}: ${says}`).join('\n'));
});

test('no promise is listed twice with the same test', () => {
  const keys = listed.map(({ at, says, file, test: name }) => [at, says, file, name].join('\n'));
  equal(
    keys.filter((key, index) => keys.indexOf(key) !== index),
    [],
  );
});

test('every section of the documentation has a promise, or is listed as one that promises nothing', () => {
  const promising = new Set(listed.map(({ at }) => at));
  const headings = sections.map(({ heading }) => heading).filter((heading) => heading !== '');
  equal(
    headings.filter((heading) => !promising.has(heading) && WITHOUT_PROMISES[heading] === undefined),
    [],
  );
  equal(
    Object.keys(WITHOUT_PROMISES).filter((heading) => promising.has(heading) || !headings.includes(heading)),
    [],
    'listed as sections without promises',
  );
});

test.run();
