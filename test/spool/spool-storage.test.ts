import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { equal, is, match, not, ok } from 'uvu/assert';
import { openSpoolStorage, type SpoolStorageOptions } from '../../infra/spool/spool-storage.ts';
import type { SpoolEntry } from '../../infra/spool/spooled-delivery.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const KEY = { kid: 'kid1', key: randomBytes(32) };
const ALL = { rows: 1_000, bytes: 1e9 };
const DAY = Date.parse('2026-11-23T00:00:00Z');

const entry = (number: number, more: Partial<SpoolEntry> = {}): SpoolEntry => ({
  tenant: 'tenant1',
  integration: `integration${number % 2}`,
  delivery: `delivery${number}`,
  eventId: randomUUID(),
  at: DAY + number,
  facts: JSON.stringify({ number, ip: 'canary-address' }),
  body: new TextEncoder().encode(`canary-body-${number}`),
  ...more,
});

const entries = (count: number): SpoolEntry[] => Array.from({ length: count }, (_, number) => entry(number));

const open = (dir: string, options: Partial<SpoolStorageOptions> = {}) => {
  const storage = openSpoolStorage({ dir, key: KEY, ...options });
  afterTest(() => {
    try {
      storage.close();
    } catch {}
  });
  return storage;
};

const ignore = (): void => {};
const read = (storage: ReturnType<typeof open>) => storage.first(ALL, ignore).map(({ entry: found }) => found);

test('deliveries are read from the spool in the order in which they were written, even after a restart, and stay in the spool until they are removed', () => {
  const { dir } = createTempDirectory();
  const written = entries(5);
  const first = open(dir);
  equal(first.put(written), Array(5).fill('stored'));
  first.close();
  const second = open(dir);
  equal(
    read(second).map(({ delivery, eventId }) => [delivery, eventId]),
    written.map(({ delivery, eventId }) => [delivery, eventId]),
  );
  equal(Buffer.from(read(second)[3]!.body as Uint8Array).toString(), 'canary-body-3');
  equal(second.rowsByIntegration(), [
    ['integration0', 3],
    ['integration1', 2],
  ]);
  second.remove(second.first({ rows: 2, bytes: 1e9 }, ignore).map(({ seq }) => seq));
  equal([read(second).map(({ delivery }) => delivery), second.status().oldestAt], [['delivery2', 'delivery3', 'delivery4'], DAY + 2]);
  second.remove(second.first(ALL, ignore).map(({ seq }) => seq));
  equal([second.status().rows, second.status().bytes, second.status().oldestAt], [0, 0, null]);
});

test('a delivery that already waits in the spool is not written a second time', () => {
  const storage = open(createTempDirectory().dir);
  const [one] = entries(1);
  equal([storage.put([one!]), storage.put([one!, entry(1)])], [['stored'], ['known', 'stored']]);
  is(storage.status().rows, 2);
  equal(read(storage)[0]!.eventId, one!.eventId);
});

test('the spool files contain neither the bodies nor the facts of deliveries in plain text', () => {
  const { dir } = createTempDirectory();
  const storage = open(dir);
  storage.put(entries(50));
  const files = readdirSync(dir).map((name) => readFileSync(join(dir, name)));
  ok(files.some((bytes) => bytes.includes('delivery49')));
  for (const bytes of files) not.ok(bytes.includes('canary'));
});

test('when the spool is read, a delivery that was encrypted with an unknown key is parked, and the other deliveries are returned', () => {
  const { dir } = createTempDirectory();
  const other = open(dir, { key: { kid: 'kid2', key: randomBytes(32) } });
  other.put([entry(0)]);
  other.close();
  const storage = open(dir);
  storage.put([entry(1)]);
  const warnings: string[] = [];
  equal(
    storage.first(ALL, (warning) => warnings.push(warning)).map(({ entry: { delivery } }) => delivery),
    ['delivery1'],
  );
  match(warnings.join(), /sealed with the key kid2, which this platform does not know/);
  equal([storage.status().rows, storage.status().parked], [1, 1]);
  storage.close();
  equal(read(open(dir, { key: { kid: 'kid2', key: KEY.key } })).length, 0);
});

test('a delivery that was encrypted with an older key of the platform can be read', () => {
  const { dir } = createTempDirectory();
  const older = { kid: 'kid0', key: randomBytes(32) };
  const before = open(dir, { key: older });
  before.put([entry(0)]);
  before.close();
  const storage = open(dir, { olderKeys: [older] });
  storage.put([entry(1)]);
  equal(
    storage.first(ALL, () => {}).map(({ entry: { delivery } }) => delivery),
    ['delivery0', 'delivery1'],
  );
  storage.close();
});

test('writing a delivery to the spool is refused if the limit of rows or bytes is reached or the disk is full; the deliveries in the spool stay', () => {
  const { dir } = createTempDirectory();
  const few = open(dir, { limits: { rows: 3, bytes: 1e9 } });
  const ofTenant = (number: number): SpoolEntry => entry(number, { tenant: `tenant${number}` });
  equal([few.put([0, 1, 2].map(ofTenant)), few.put([ofTenant(3)])], [Array(3).fill('stored'), ['full']]);
  equal([few.status().canTake, read(few).length], [false, 3]);
  few.remove(few.first({ rows: 1, bytes: 1e9 }, ignore).map(({ seq }) => seq));
  equal(few.put([ofTenant(3)]), ['stored']);
  few.close();
  const small = open(dir, { limits: { rows: 1_000, bytes: 1_000 } });
  equal(small.put([entry(9, { body: new Uint8Array(1_000) })]), ['full']);
  small.close();
  const full = open(dir, { minFreeBytes: Number.POSITIVE_INFINITY });
  equal([full.put([entry(9)]), full.status().canTake, read(full).length], [['full'], false, 3]);
});

test('a tenant that fills its share of the spool is refused, and deliveries of other tenants, and its own small ones, are still written', () => {
  const { dir } = createTempDirectory();
  const limits = { rows: 1_000, bytes: 40_000_000 };
  const large = (tenant: string, number: number) =>
    entry(number, { tenant, integration: tenant, delivery: `${tenant} ${number}`, body: new Uint8Array(1_000_000) });
  const flood = (storage: ReturnType<typeof open>, tenant: string, count: number, from = 0): number =>
    Array.from({ length: count }, (_, at) => storage.put([large(tenant, from + at)])[0]).filter((result) => result === 'stored').length;
  const first = open(dir, { limits, minFreeBytes: 0 });
  equal(flood(first, 'a', 30), 9, 'a quarter of 40 MB');
  equal(flood(first, 'b', 30), 7, 'a quarter of what a leaves');
  equal(first.put([large('a', 50), large('c', 0), large('a', 51), large('c', 1)]), ['full', 'stored', 'full', 'stored']);
  equal(first.put([entry(100, { tenant: 'a' })]), ['stored'], 'a small one');
  equal(first.status().refusedShares, 21 + 23 + 2);
  first.close();
  const second = open(dir, { limits, minFreeBytes: 0 });
  equal(flood(second, 'a', 3, 60), 0, 'the shares are known after a restart');
  second.remove(second.first({ rows: 4, bytes: 1e9 }, ignore).map(({ seq }) => seq));
  equal(flood(second, 'a', 3, 70), 2, 'what is recorded is given back');
});

test('each process has its own spool file; another process can move the deliveries of an ended process to its own file, and they keep their event ids', () => {
  const { dir } = createTempDirectory();
  const [ended, other] = [open(dir), open(dir)];
  const left = entries(3);
  ended.put(left);
  other.put([entry(7)]);
  equal(other.adopt(), []);
  ended.close();
  equal(other.adopt(), ['integration0', 'integration1', 'integration0']);
  equal(
    read(other)
      .map(({ eventId }) => eventId)
      .slice(1),
    left.map(({ eventId }) => eventId),
  );
  equal(other.adopt(), []);
  const restarted = open(dir);
  equal([restarted.status().rows, other.status().rows], [0, 4]);
});

test('parked deliveries are skipped until a restart; after it, recording them is tried again', () => {
  const { dir } = createTempDirectory();
  const storage = open(dir);
  storage.put(entries(2));
  storage.park(storage.first(ALL, ignore)[0]!.seq, 'refused');
  equal([read(storage).map(({ delivery }) => delivery), storage.status().rows, storage.status().parked], [['delivery1'], 1, 1]);
  storage.close();
  equal(read(open(dir)).length, 2);
});

test('a spool file shrinks when the spool becomes empty', () => {
  const { dir } = createTempDirectory();
  const storage = open(dir);
  for (let n = 0; n < 20; n++) storage.put([entry(n, { body: randomBytes(1_000_000) })]);
  const sizeOf = (): number => readdirSync(dir).reduce((sum, name) => sum + readFileSync(join(dir, name)).length, 0);
  ok(sizeOf() > 20_000_000);
  storage.remove(storage.first(ALL, ignore).map(({ seq }) => seq));
  ok(sizeOf() < 200_000, String(sizeOf()));
});

test.run();
