import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AnyAggregate, fold } from '../../domain/aggregate.ts';
import { type Metadata, parseStream, type Recorded } from '../../domain/event.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import { projections } from '../../projections/registry.ts';
import { root } from '../fixtures/child-process.ts';

/**
 * `stored-events.jsonl` contains whole streams with events of every type, in log order, as version 0.1.0 stored them.
 * The last lines of the file are digests of the rows that the projections of that version made of these events. Stored
 * names never change, so these events are never edited; events of new types are added. The digests of a table may
 * change only when the version of its projection changes.
 */
type StoredEvent = { stream: string; revision: number; type: string; data: { $base64?: string }; meta: Metadata };
type Line = { event: StoredEvent } | { table: string; rows: Record<string, string> };

const lines = readFileSync(join(root, 'test/fixtures/stored-events.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Line);
const stored = lines.flatMap((line) => ('event' in line ? [line.event] : []));
const tables = lines.flatMap((line) => ('table' in line ? [line] : []));

const recordedEvents: Recorded[] = stored.map(({ stream, revision, type, data, meta }, index) => ({
  ...parseStream(stream)!,
  event_id: `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`,
  stream,
  revision,
  type,
  data: data.$base64 === undefined ? data : new Uint8Array(Buffer.from(data.$base64, 'base64')),
  position: { commit: BigInt(1000 + index), prepare: BigInt(1000 + index) },
  at: meta.at,
  actor: meta.actor,
  meta,
}));

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
};

const digestOf = (value: unknown): string => {
  const plain = JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one));
  return createHash('sha256')
    .update(JSON.stringify(sorted(JSON.parse(plain))))
    .digest('hex')
    .slice(0, 16);
};

/** The stream categories that have no aggregate: the marker of the first start, and the chunks of large bodies. */
const NOT_FOLDED = ['platform', 'deliverybody'];

const modules = globSync('domain/*/*.ts', { cwd: root }).map((file) => import(`../../${file}`) as Promise<Partial<AnyAggregate>>);
const aggregates = (
  await Promise.all([...modules, import('../../domain/wrapped-key.ts'), import('../../domain/idempotency-key.ts')])
).filter((module): module is AnyAggregate => typeof module.category === 'string' && 'evolve' in module);

test('the file of stored events contains every event type of version 0.1.0', () =>
  assert.is(new Set(stored.map(({ type }) => type)).size, 110));

test('the aggregate of each category can fold the stored streams of that category', () => {
  for (const stream of new Set(stored.map((event) => event.stream))) {
    const { category } = parseStream(stream)!;
    if (NOT_FOLDED.includes(category)) continue;
    const aggregate = aggregates.find((one) => one.category === category);
    assert.ok(aggregate, `no aggregate folds the category ${category}`);
    const state = fold(aggregate, recordedEvents.filter((event) => event.stream === stream) as never) as unknown;
    assert.ok(state !== undefined && state !== null, stream);
  }
});

test('the projections make the same rows of the stored events as version 0.1.0 did', () => {
  const store = openMemoryStore(projections);
  store.feed(recordedEvents);
  for (const { table, rows } of tables) {
    const [projection, name] = table.split('.') as [string, string];
    const made = Object.fromEntries(
      [...store.rows(projection, name)].map(([key, { row, docs, revision }]) => [key, digestOf({ row, docs, revision })]),
    );
    assert.equal(made, rows, table);
  }
});

test.run();
