import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { leafHash } from '../../domain/audit/merkle-tree.ts';
import { recordedEventText, withoutBytes } from '../../domain/audit/recorded-event.ts';
import type { Recorded } from '../../domain/event.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { serveStore } from '../../infra/eventstore/embedded/rpc/serve-store.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { catchUpTo } from '../../infra/projector/catch-up.ts';
import { checkAllDrift } from '../../infra/projector/drift-check.ts';
import { openErasedTenants } from '../../infra/projector/erased-tenants.ts';
import { requestMaintenance, requestState } from '../../infra/projector/maintenance-requests.ts';
import { openProjection } from '../../infra/projector/open-projection.ts';
import { openRowBudget } from '../../infra/projector/row-cache.ts';
import { createSystemTables } from '../../infra/projector/schema.ts';
import { EXCLUDED_CATEGORIES } from '../../projections/audit/audit-entry.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import { projections } from '../../projections/registry.ts';
import { root } from '../fixtures/child-process.ts';
import { query, silentLogger, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { storedEvents } from '../fixtures/stored-events.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

/** The names of all event types in the code: each member of a union of events has a `type`, and some events have no union. */
const typesInCode = new Set(
  globSync(['domain/**/*.ts', 'infra/**/*.ts', 'commands/**/*.ts'], { cwd: root }).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\btype: '([A-Z][a-z]+[A-Z]\w+)'/g)].map(([, type]) => type!),
  ),
);

/** Data that are bytes, in two sizes. */
const SIZES = [0, 100_000];

/** The first event of each type whose data are bytes. */
const binaryEvents = [...Map.groupBy(storedEvents, ({ type }) => type).values()].flatMap(
  (ofType) => ofType.find(({ data, revision }) => data instanceof Uint8Array && revision === 0) ?? [],
);

/** Returns the event with other bytes, in its own stream. */
const withSize = (event: Recorded, size: number, number: number): Recorded => {
  const id = `${event.id.slice(0, -3)}${String(number).padStart(3, '0')}`;
  const stream = `${event.category}-${event.tenant}.${id}`;
  const event_id = `10000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  return { ...event, id, stream, event_id, data: Buffer.alloc(size, 'Prüft') };
};

/** Events of every type, as the product stores them. Those types whose data are bytes occur in each size. */
const events: readonly Recorded[] = [
  ...storedEvents,
  ...binaryEvents.flatMap((event, index) => SIZES.map((size, at) => withSize(event, size, index * SIZES.length + at))),
];

/** Starts an event store with a client. Both are closed when the test ends. */
const startStore = async (): Promise<Log> => {
  const server = await serveStore({ dir: createTempDirectory().dir, port: 0, open: true, print: () => {} });
  const log = openLog(`esdb://127.0.0.1:${server.port}?tls=false`);
  afterTest(async () => {
    await log.close();
    await server.close();
  });
  return log;
};

/** Returns the events in runs of one stream, so that each run can be appended at once. */
const runsOfStreams = (): Recorded[][] => {
  const runs: Recorded[][] = [];
  for (const event of events) {
    const last = runs.at(-1);
    if (last && last[0]!.stream === event.stream && !(event.data instanceof Uint8Array)) last.push(event);
    else runs.push([event]);
  }
  return runs;
};

const append = async (log: Log): Promise<void> => {
  const next = new Map<string, number>();
  for (const run of runsOfStreams()) {
    const { stream } = run[0]!;
    const revision = next.get(stream) ?? 0;
    const added = run.map(({ event_id: id, type, data, meta }) => ({ id, type, data, meta }));
    await log.append(stream, revision === 0 ? 'none' : revision - 1, added);
    next.set(stream, revision + run.length);
  }
};

/** Moves an empty audit log to the end of the log in the way in which a projection joins others. @returns the URL of its database */
const catchUp = async (log: Log): Promise<string> => {
  const databaseUrl = await freshDatabase();
  const pool = openPool(databaseUrl, silentLogger, 'test');
  const db = await pool.connect();
  await createSystemTables(db);
  const opened = await openProjection(db, audit, { rowBudget: openRowBudget(), erased: openErasedTenants(log, silentLogger) });
  assert.ok('live' in opened && opened.live);
  const [last] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
  await catchUpTo(log, db, [opened.live], { from: null, to: last!.position });
  db.release();
  await pool.end();
  return databaseUrl;
};

/** The rows of erased tenants are removed. */
const erased = new Set(events.filter(({ type }) => type === 'TenantErased').map(({ tenant }) => tenant));
/** The events of which the audit log has entries. */
const audited = new Map(
  events
    .filter(({ category, meta }) => !EXCLUDED_CATEGORIES.has(category) && !erased.has(meta.tenant))
    .map((event) => [event.event_id, event]),
);

/** Returns lines with an event, its type, its number of bytes and its leaf. */
const linesOf = (leaves: readonly (readonly [event_id: string, leaf: string])[]): string[] =>
  leaves
    .flatMap(([event_id, leaf]) => {
      const event = audited.get(event_id);
      return event ? [`${event_id} ${event.type} ${event.data instanceof Uint8Array ? event.data.length : '-'} ${leaf}`] : [];
    })
    .sort();

/** Asserts that two lists of lines are equal. If they are not, shows only the lines in which they differ. */
const assertSame = (lines: readonly string[], expected: readonly string[], what: string): void => {
  const [found, wanted] = [new Set(lines), new Set(expected)];
  assert.equal([...found.difference(wanted)], [...wanted.difference(found)], what);
  assert.ok(wanted.size > 400, `${wanted.size} entries`);
};

/** Returns the leaves that the audited events of the log must have: the hashes of what the API and exports show of them. */
const expectedLeaves = async (log: Log): Promise<string[]> => {
  const leaves: [string, string][] = [];
  for await (const event of log.readAll()) leaves.push([event.event_id, leafHash(recordedEventText(event))]);
  return linesOf(leaves);
};

const leavesIn = async (databaseUrl: string): Promise<string[]> => {
  const rows = await query<{ id: string; leaf: string }>(databaseUrl, 'select id, leaf_hash as leaf from audit.audit_logs');
  return linesOf(rows.map(({ id, leaf }) => [id, leaf]));
};

test('the stored events of this test have every event type that occurs in the code', () => {
  const stored = new Set(storedEvents.map(({ type }) => type));
  assert.ok(typesInCode.size > 200, `${typesInCode.size} types`);
  assert.equal(
    [...typesInCode].filter((type) => !stored.has(type)),
    [],
  );
  assert.equal(
    [...stored].filter((type) => !typesInCode.has(type)),
    [],
  );
});

test('the leaf of every event type covers what the API shows, after live projection, catch-up and rebuild', async () => {
  const log = await startStore();
  const databaseUrl = await freshDatabase();
  const { reads } = await startProjectionPlatform(log, databaseUrl, [audit]);
  await append(log);
  await waitForProjection(reads, log, audit.name);
  const expected = await expectedLeaves(log);
  assertSame(await leavesIn(databaseUrl), expected, 'live');

  const later = await freshDatabase();
  const platform = await startProjectionPlatform(log, later, [audit]);
  await waitForProjection(platform.reads, log, audit.name);
  assertSame(await leavesIn(later), expected, 'from the start of the log');
  assertSame(await leavesIn(await catchUp(log)), expected, 'caught up with another projection');

  const pool = openPool(databaseUrl, silentLogger, 'test');
  afterTest(() => pool.end());
  // As the eraser of tenants does, which this test does not run.
  await pool.query('delete from audit.audit_counts where tenant_id = any($1)', [[...erased]]);
  assert.equal((await checkAllDrift(log, pool, [audit]))[0]!.drifted, [], 'the drift check');
  const id = await requestMaintenance(pool, 'rebuild', audit.name);
  const done = await waitUntil(
    'the rebuild',
    () => requestState(pool, id),
    (state) => state?.done_at != null,
  );
  assert.is((done!.outcome as { promoted: boolean }).promoted, true);
  assertSame(await leavesIn(databaseUrl), expected, 'rebuilt');
});

test('every projection makes the same rows from events without their bytes as from whole events', () => {
  const [whole, shortened] = [openMemoryStore(projections), openMemoryStore(projections)];
  whole.feed(events);
  shortened.feed(events.map((event) => withoutBytes(event)));
  for (const { name, tables } of projections) {
    assert.equal(
      shortened.unapplied(name).map(({ reason }) => reason),
      whole.unapplied(name).map(({ reason }) => reason),
      name,
    );
    for (const table of tables)
      assert.equal([...shortened.rows(name, table.name)], [...whole.rows(name, table.name)], `${name}.${table.name}`);
  }
});

test.run();
