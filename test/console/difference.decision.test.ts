import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { changeTable } from '../../api/console/parts/history.ts';
import { htmlOf, type Node } from '../../api/console/parts/tags.ts';

const shown = (from: unknown, to: unknown): string => htmlOf(changeTable({ changes: [{ pointer: '/field', from, to }] }) as Node, '');

test('in two texts of one line, the words that differ are marked', () => {
  const html = shown('Reviews pull requests', 'Reviews merge requests');
  assert.match(html, /<del>Reviews <mark>pull<\/mark> requests<\/del>/);
  assert.match(html, /<ins>Reviews <mark>merge<\/mark> requests<\/ins>/);
});

test('in two texts of several lines, the lines that differ are marked, and long runs of equal lines are shortened', () => {
  const lines = Array.from({ length: 12 }, (_, index) => `line ${index}`);
  const html = shown(lines.join('\n'), lines.with(11, 'changed').join('\n'));
  assert.match(html, /<div><del>line 11<\/del><\/div><div><ins>changed<\/ins><\/div>/);
  assert.match(html, /<div>line 1<\/div><div class="quiet">7 equal lines<\/div><div>line 9<\/div>/);
});

test('texts without a common word, and values that are not texts, are shown as they are', () => {
  assert.match(shown('alpha', 'beta'), /<del>alpha<\/del><\/td><td><ins>beta<\/ins>/);
  assert.match(shown(null, { a: 1 }), /<del>—<\/del>[\s\S]*<ins>\{&quot;a&quot;:1\}<\/ins>/);
});

test('markup in compared texts stays text', () => {
  assert.not.match(shown('a <b>x</b>', 'a <i>x</i>'), /<[bi]>/);
});

test.run();
