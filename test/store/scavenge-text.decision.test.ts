import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { describeScavenged } from '../../infra/eventstore/embedded/scavenge-store.ts';

const results: [number, number, string][] = [
  [8, 15_435, 'freed 15435 bytes: 8 events removed'],
  [8, -15_435, 'freed no space: 8 events removed'],
  [1, 1, 'freed 1 byte: 1 event removed'],
  [0, 0, 'freed no space: 0 events removed'],
];
for (const [events, bytes, text] of results)
  test(`the result of a scavenge has no negative number: ${text}`, () => assert.is(describeScavenged({ events, bytes }), text));

test.run();
