import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { problemLines } from '../../domain/refusal.ts';

const name = { pointer: '/name', message: 'is missing' };
const slug = { pointer: '/slug', message: 'is taken' };

const CASES: Readonly<Record<string, readonly [detail: string, errors: Parameters<typeof problemLines>[1], lines: readonly string[]]>> = {
  'a text without faults': ['No such agent', undefined, ['No such agent']],
  'a text that names its fault and where it is': ['/name: is missing', [name], ['/name: is missing']],
  'a text that is that of its fault': ['is missing', [name], ['/name: is missing']],
  'a text that names the first of two faults': ['/name: is missing', [name, slug], ['/name: is missing', '/slug: is taken']],
  'a text of its own': ['Choose another one', [slug], ['Choose another one', '/slug: is taken']],
  'a fault of the whole body': ['the body: is empty', [{ pointer: '', message: 'is empty' }], ['the body: is empty']],
};

for (const [what, [detail, errors, lines]] of Object.entries(CASES))
  test(`${what} is told once`, () => {
    assert.equal(problemLines(detail, errors), lines);
  });

test.run();
