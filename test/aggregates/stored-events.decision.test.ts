import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AnyAggregate, fold } from '../../domain/aggregate.ts';
import { parseStream } from '../../domain/event.ts';
import { AUDIT_RECORDS } from '../../projections/audit-records.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import { projections } from '../../projections/registry.ts';
import { root } from '../fixtures/child-process.ts';
import { digestsOfAreas, eventsOfAreas, storedDigests, storedEvents } from '../fixtures/stored-events.ts';

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

/**
 * The stream categories without an aggregate. The stream of `platform` records that the first start was completed; the
 * streams of `deliverybody` contain the chunks of large request bodies.
 */
const NOT_FOLDED = ['platform', 'deliverybody'];

const modules = globSync('domain/*/*.ts', { cwd: root }).map((file) => import(`../../${file}`) as Promise<Partial<AnyAggregate>>);
const aggregates = (
  await Promise.all([...modules, import('../../domain/wrapped-key.ts'), import('../../domain/idempotency-key.ts')])
).filter((module): module is AnyAggregate => typeof module.category === 'string' && 'evolve' in module);

/** Types of technical events that do not appear in the audit log. */
const NOT_AUDITED = [
  ...['AuditHeadAnchored', 'AuditHeadSigned', 'DataKeyCreated', 'DeliveryBodyPart', 'KeysRewrapped', 'MessagesPublished'],
  'PlatformKeyCreated',
  ...['IdempotencyKeyClaimed', 'IdempotencyKeyFinished', 'IdempotencyKeyReleased', 'IdempotencyKeyTaken'],
];

test('the stored events contain at least one event of every type', () =>
  assert.equal([...new Set(storedEvents.map(({ type }) => type))].sort(), [...AUDIT_RECORDS.keys(), ...NOT_AUDITED].sort()));

test('for each category, the aggregate can fold the streams of that category in the file of stored events', () => {
  for (const stream of new Set(storedEvents.map((event) => event.stream))) {
    const { category } = parseStream(stream)!;
    if (NOT_FOLDED.includes(category)) continue;
    const aggregate = aggregates.find((one) => one.category === category);
    assert.ok(aggregate, `no aggregate folds the category ${category}`);
    const state = fold(aggregate, storedEvents.filter((event) => event.stream === stream) as never) as unknown;
    assert.ok(state !== undefined && state !== null, stream);
  }
});

test('from the file of stored events, the projections make the same rows as in version 0.1.0', () => {
  const store = openMemoryStore(projections);
  const check = ({ table, rows }: (typeof storedDigests)[number]): void => {
    const [projection, name] = table.split('.') as [string, string];
    const made = Object.fromEntries(
      [...store.rows(projection, name)].map(([key, { row, docs, revision }]) => [key, digestOf({ row, docs, revision })]),
    );
    assert.equal(made, rows, table);
  };
  store.feed(storedEvents.slice(0, storedEvents.length - eventsOfAreas.length));
  storedDigests.forEach(check);
  store.feed(eventsOfAreas);
  digestsOfAreas.forEach(check);
});

test.run();
