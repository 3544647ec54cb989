import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Position, tokenOf } from '../../domain/event.ts';
import { positionBefore } from '../../infra/reactors/resume-position.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

const HOUR_MS = 3_600_000;
const { signal } = new AbortController();
const positionOf = (n: number): Position => ({ commit: BigInt(n), prepare: BigInt(n) });

/** Creates a log in which the messages up to the position n were published `ages[n]` milliseconds ago. */
const logWithRecords = async (ages: readonly number[]) => {
  const log = memoryLog();
  for (const [n, age] of ages.entries()) {
    const at = new Date(Date.now() - age).toISOString();
    const meta = { tenant: 'platform', actor: { kind: 'system', id: 'relay' }, at, v: 1 } as const;
    const data = { through: tokenOf(positionOf(n)) };
    await log.append('publication-platform.messages', n === 0 ? 'none' : n - 1, [
      { id: randomUUID(), type: 'MessagesPublished', data, meta },
    ]);
  }
  return log;
};

for (const [name, ages, found] of [
  ['of a log without records is its start', [], undefined],
  ['before the first record is the start of the log', [HOUR_MS / 2, 1_000], undefined],
  ['is that of the last record that is older', [5 * HOUR_MS, 3 * HOUR_MS, 2 * HOUR_MS, HOUR_MS / 2], positionOf(2)],
  ['allows for clocks that differ by up to a minute', [2 * HOUR_MS, HOUR_MS + 30_000], positionOf(0)],
  ['is that of the last record if all are older', [4 * HOUR_MS, 3 * HOUR_MS], positionOf(1)],
] as const)
  test(`the position before the events of the last hour ${name}`, async () => {
    const log = await logWithRecords(ages);
    assert.equal(await positionBefore(log, HOUR_MS, signal), found);
  });

test('the position before an age is found with a few reads among very many records', async () => {
  const log = await logWithRecords(Array.from({ length: 5_000 }, (_, n) => (5_000 - n) * 2_000));
  let reads = 0;
  const read = (...args: Parameters<typeof log.read>) => {
    reads++;
    return log.read(...args);
  };
  const found = await positionBefore({ ...log, read }, HOUR_MS, signal);
  assert.ok(Math.abs(Number(found!.commit) - (5_000 - 1_830)) <= 2, String(found!.commit));
  assert.ok(reads <= 13, String(reads));
});

test.run();
