import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { failureKey } from '../../domain/runners/report-texts.ts';

const keyOf = (stderr_tail: string) => failureKey({ reason: 'the command ended with 1', stderr_tail });

const SAME: readonly (readonly [what: string, one: string, other: string])[] = [
  ['times', '2026-11-27T17:00:12.345Z Error: no', '2026-11-28T09:41:02.001Z Error: no'],
  ['times of day', '[17:00:12,345] Error: no', '[09:41:02,001] Error: no'],
  ['Unix times', 'at 1764263999.12 no', 'at 1764264321.98 no'],
  ['UUIDs', 'run 6f9619ff-8b86-4d01-b42d-00cf4fc964ff', 'run 0c1d2e3f-1111-4222-8333-444455556666'],
  ['ids of requests', 'req_011CSHoEeqs5C35K2UUqR7Fy: overloaded', 'req_011CSJpWwqs9D12L8VVqS3Gz: overloaded'],
  ['hashes', 'commit 3f786850e387', 'commit 89e6c98d9288'],
  ['ids of processes', '[worker 1001] (node:4711) pid=17 no', '[worker 1002] (node:812) pid=9 no'],
];
const DIFFERENT: readonly (readonly [what: string, one: string, other: string])[] = [
  ['statuses', 'Error: status 429', 'Error: status 500'],
  ['exit codes', 'npm ended with 1', 'npm ended with 127'],
  ['ports', 'connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED 10.0.0.7:4222'],
  ['lines of code', 'at main.ts:41:15', 'at main.ts:98:15'],
  ['names with digits', 'no model claude-sonnet-4', 'no model claude-opus-4'],
  ['words', 'the model is down', 'the model is slow'],
];

for (const [what, one, other] of SAME)
  test(`reports whose texts differ only in ${what} are of the same failure`, () => assert.is(keyOf(one), keyOf(other)));

for (const [what, one, other] of DIFFERENT)
  test(`reports whose texts differ in ${what} are of different failures`, () => assert.is.not(keyOf(one), keyOf(other)));

test('the time to compare texts grows in proportion to their length', () => {
  const timeOf = (text: string): number => {
    const start = process.cpuUsage();
    for (let n = 0; n < 50; n++) keyOf(text);
    return process.cpuUsage(start).user;
  };
  for (const text of ['a', 'f-', '1:', '0 ', 'worker ', '11:11:11.', 'a1']) {
    timeOf(text.repeat(4_000));
    assert.ok(timeOf(text.repeat(40_000 / text.length)) < 500_000, `${text} repeated`);
  }
});

test.run();
