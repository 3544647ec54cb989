import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { filesOf, root, textOf } from './source-files.ts';

/** At most this many lines of 100 are comments, without blank lines. Lower a figure when a folder gets better; the aim is 15. */
const MAX_COMMENTS_PERCENT = { domain: 14.2, commands: 13.5, projections: 11.5, api: 10.3, infra: 12.9 };
/** Lower these when names get shorter; the aim is no name of more than 110 characters. */
const MAX_LONG_NAMES = 1_106;
const MAX_LONGEST_NAME = 159;
const MAX_NAME = 110;

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');

/** Counts whole lines of comments; a comment after code does not count. */
const commentLinesIn = (text: string): number => {
  const blocks = text.match(/^[ \t]*\/\*[\s\S]*?\*\//gm) ?? [];
  const singles = text.match(/^[ \t]*\/\/.*$/gm) ?? [];
  return singles.length + blocks.reduce((sum, block) => sum + linesOf(block).length, 0);
};

for (const [folder, most] of Object.entries(MAX_COMMENTS_PERCENT))
  test(`at most ${most} % of the lines of ${folder} are comments`, () => {
    const texts = filesOf(folder).map(textOf);
    const comments = texts.reduce((sum, text) => sum + commentLinesIn(text), 0);
    const lines = texts.reduce((sum, text) => sum + linesOf(text).length, 0);
    const percent = (100 * comments) / lines;
    assert.ok(percent <= most, `${percent.toFixed(2)} %: drop comments that restate a name, and shorten long ones`);
  });

const TEST_NAME = /\b(?:\w*[tT]est(?:\.\w+)?|live|run|onPlatform)\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

/** A value in a name counts as one character. */
const testNames = (): string[] =>
  filesOf('test')
    .filter((file) => file.endsWith('.test.ts'))
    .flatMap((file) => [...readFileSync(join(root, file), 'utf8').matchAll(TEST_NAME)])
    .map(([, single, double, template]) => (single ?? double ?? template!).replaceAll("\\'", "'").replace(/\$\{[^{}]*\}/g, '…'))
    .filter((name) => !name.includes('\n'));

test('the number and the length of test names of more than 110 characters do not increase', () => {
  const long = testNames().filter((name) => name.length > MAX_NAME);
  const longest = long.reduce((found, name) => (name.length > found.length ? name : found), '');
  assert.ok(long.length <= MAX_LONG_NAMES, `${long.length} names; two rules are two tests`);
  assert.ok(longest.length <= MAX_LONGEST_NAME, `${longest.length} characters: ${longest}`);
});

test.run();
