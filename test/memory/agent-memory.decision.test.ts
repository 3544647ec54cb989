import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fold } from '../../domain/aggregate.ts';
import * as AgentMemory from '../../domain/memory/agent-memory.ts';
import { entryIdOf } from '../../domain/memory/entry-id.ts';
import * as Runs from '../../domain/memory/kept-runs.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { given, ID, recorded } from '../fixtures/given.ts';

const AT = '2026-01-01T12:00:00.000Z';
const NOBODY = { key_id: null, at: AT };
const id = (index: number): string => entryIdOf(ID, index);
const fields = (sha256: string) => ({ agent_id: ID, sha256, session_id: null });
const added = (index: number): AgentMemory.AgentMemoryEvent => ({
  type: 'MemoryRemembered',
  data: { ...fields(`sha ${index}`), entry_id: id(index) },
});
const removed = (entries: number, ranges: [number, number][], since: string | null): AgentMemory.AgentMemoryEvent => ({
  type: 'MemoryForgotten',
  data: { agent_id: ID, entries, ranges: ranges.map(([first, last]) => ({ first: id(first), last: id(last) })), since },
});

test('ids of entries follow the order in which they were written, even after some were removed', () => {
  given(AgentMemory)
    .when(AgentMemory.remember(fields('a'), NOBODY))
    .emits({
      type: 'MemoryRemembered',
      data: { ...fields('a'), entry_id: id(0) },
    });
  given(AgentMemory, added(0), added(1), removed(1, [[1, 1]], null))
    .when(AgentMemory.remember(fields('b'), NOBODY))
    .emits({
      type: 'MemoryRemembered',
      data: { ...fields('b'), entry_id: id(2) },
    });
});

test('removing an entry that is not remembered, or no longer, is refused with not_found', () => {
  const memory = given(AgentMemory, added(0), added(1), added(2));
  memory.when(AgentMemory.forget(id(1))).emits(removed(1, [[1, 1]], null));
  memory.when(AgentMemory.forget(id(3))).refuses('not_found');
  memory.when(AgentMemory.forget(entryIdOf('cother0000000000000000000', 1))).refuses('not_found');
  given(AgentMemory, added(0), removed(1, [[0, 0]], null))
    .when(AgentMemory.forget(id(0)))
    .refuses('not_found');
});

test('removing entries since a time leaves out those that were removed before, and does nothing if none is left', () => {
  const memory = given(AgentMemory, ...[0, 1, 2, 3, 4].map(added), removed(1, [[2, 2]], null));
  memory.when(AgentMemory.forgetSince(AT, [{ first: 1, last: 9 }])).emits(
    removed(
      3,
      [
        [1, 1],
        [3, 4],
      ],
      AT,
    ),
  );
  memory.when(AgentMemory.forgetSince(AT, [{ first: 2, last: 2 }])).emits();
});

test('an event removes at most 1,000 entries, and a decision at most 2,000 ranges, so that no append is too large', () => {
  const sizes = (runs: Runs.KeptRuns) =>
    AgentMemory.forgetSince(AT, [{ first: 0, last: 99_999 }])({ ...AgentMemory.initial, agent_id: ID, runs }).map(
      ({ data }) => (data as { entries: number }).entries,
    );
  assert.equal(sizes([2_500]), [1_000, 1_000, 500]);
  const scattered = AgentMemory.forgetSince(AT, [{ first: 0, last: 99_999 }])({
    ...AgentMemory.initial,
    ...{ agent_id: ID, runs: Array.from({ length: 100_000 }, () => 1) },
  });
  assert.equal(
    scattered.map(({ data }) => (data as { ranges?: readonly unknown[] }).ranges?.length),
    [1_000, 1_000],
  );
  assert.ok(JSON.stringify(scattered).length < 250_000);
  assert.ok(sizes([100_000]).length < AgentMemory.snapshots.interval, 'one append has fewer events than an interval');
});

const refusalOf = (memory: AgentMemory.AgentMemory, writing: AgentMemory.Writing): Refusal | null => {
  try {
    AgentMemory.remember(fields('x'), writing)(memory);
    return null;
  } catch (error) {
    return error as Refusal;
  }
};

test('the number of entries of a runner key starts again at midnight (UTC), and also counts entries that were removed', () => {
  const byRunner = recorded(AgentMemory.category, [...Array.from({ length: 1_000 }, (_, n) => added(n)), removed(1, [[5, 5]], null)]).map(
    (event) => ({ ...event, at: AT, actor: { kind: 'agent', id: ID, key_id: 'k1' } as const }),
  );
  const memory = fold(AgentMemory, byRunner);
  const refused = refusalOf(memory, { key_id: 'k1', at: '2026-01-01T23:59:59.500Z' })!;
  assert.equal([refused.code, refused.extra.retryAfter, refused.extra.members?.resets_at], ['rate_limited', 1, '2026-01-02T00:00:00.000Z']);
  assert.is(refusalOf(memory, { key_id: 'k1', at: '2026-01-02T00:00:00.000Z' }), null);
  assert.is(refusalOf(memory, { key_id: 'k2', at: AT }), null);
  assert.is(refusalOf(memory, NOBODY), null);
});

test('100,000 entries are the maximum, and those that were removed do not count', () => {
  const full = { ...AgentMemory.initial, agent_id: ID, entries: 100_000, runs: [0, 7, 100_000] };
  assert.is(refusalOf(full, NOBODY)?.code, 'conflict');
  assert.is(refusalOf(full, NOBODY)?.extra.errors?.[0]?.code, 'memory_full');
  const [event] = recorded(AgentMemory.category, AgentMemory.forget(id(7))(full));
  assert.is(refusalOf(AgentMemory.evolve(full, event!), NOBODY), null);
});

test('in the worst case, a snapshot of the state is smaller than an append may be', () => {
  const runs = Array.from({ length: 200_000 }, (_, n) => (n % 2 ? 999 : 1));
  assert.ok(JSON.stringify({ ...AgentMemory.initial, runs }).length < 750_000);
});

test('any sequence of additions and removals yields the entries that a list of flags yields', () => {
  const step = fc.oneof(fc.constant(null), fc.uniqueArray(fc.nat(40)));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let runs: Runs.KeptRuns = [];
      const flags: boolean[] = [];
      for (const indexes of steps) {
        if (indexes === null) flags.push(true);
        else for (const index of indexes) if (flags[index]) flags[index] = false;
        const ranges = Runs.rangesOf((indexes ?? []).toSorted((a, b) => a - b));
        runs = indexes === null ? Runs.appended(runs) : Runs.dropped(runs, Runs.intersection(Runs.keptRanges(runs), ranges));
      }
      const kept = Runs.keptRanges(runs);
      const groups = Runs.groupsOf(kept, 3);
      const listed = (ranges: readonly Runs.IndexRange[]) =>
        ranges.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, n) => first + n));
      assert.equal(
        listed(kept),
        flags.flatMap((flag, index) => (flag ? [index] : [])),
      );
      assert.equal(listed(groups.flat()), listed(kept));
      assert.ok(groups.every((group) => Runs.countOf(group) <= 3));
      assert.is(Runs.lengthOf(runs), flags.length);
    }),
    { seed: 42 },
  );
});

test.run();
