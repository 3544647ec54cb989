import fs, { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openIndex } from '../../infra/eventstore/embedded/index/stream-index.ts';
import { scavenge } from '../../infra/eventstore/embedded/scavenger.ts';
import { openStore, type Store } from '../../infra/eventstore/embedded/store.ts';
import { append, proposedEvent, rethrow, withFailingFunction, withReplacedFunctions } from '../fixtures/embedded-store.ts';
import { segmentsOf } from '../fixtures/store-files.ts';
import { storeDir } from '../fixtures/store-process.ts';

/** The original functions of node:fs. The functions with which the test replaces them call the original ones. */
const { fdatasync, fdatasyncSync, fsync, fsyncSync, writeSync } = { ...fs };

const pathOf = (file: number): string => readlinkSync(`/proc/self/fd/${file}`);

/** Copies the directory of a running store, in the state in which a SIGKILL at this moment would leave it. */
const snapshot = (dir: string): string => {
  const copy = storeDir();
  cpSync(dir, copy, { recursive: true });
  return copy;
};

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const lastOf = async (dir: string, stream: string): Promise<number> => {
  const store = openStore(dir, rethrow);
  const { last } = store.streams.get(stream);
  await store.close();
  return last;
};

const reopened = async (store: Store, dir: string): Promise<Store> => {
  await store.close();
  return openStore(dir, rethrow);
};

test('the event store flushes every directory that it creates, and the parents of that directory, to the disk', async () => {
  const dir = join(storeDir(), 'above', 'store');
  const synced = new Set<string>();
  const recordSync = (file: number): void => {
    synced.add(pathOf(file));
    fsyncSync(file);
  };
  await withReplacedFunctions({ fsyncSync: recordSync }, () => openStore(dir, rethrow).close());
  for (const path of [dirname(dirname(dir)), dirname(dir), dir, join(dir, 'log')]) assert.ok(synced.has(path), path);
});

test('a new segment file gets its final name only after its header is on the disk', async () => {
  const dir = storeDir();
  const store = openStore(dir, rethrow);
  await append(store, 'a', -1);
  const sizes: number[] = [];
  const recordSizes = (write: typeof writeSync) =>
    ((...args: Parameters<typeof writeSync>) => {
      sizes.push(...segmentsOf(dir).map((path) => statSync(path).size));
      return write(...args);
    }) as typeof writeSync;
  await withReplacedFunctions({ writeSync: recordSizes(writeSync) }, () => store.log.startSegment());
  assert.is(segmentsOf(dir).length, 2);
  assert.ok(sizes.length > 0 && sizes.every((size) => size >= 32), String(sizes));
  await store.close();
});

test('zeros after the last record of an earlier segment are accepted as preallocated space; any other bytes there are reported as damage', async () => {
  const dir = storeDir();
  let store = openStore(dir, rethrow);
  await append(store, 'a', -1);
  store = await reopened(store, dir);
  store.log.startSegment();
  await append(store, 'a', 0);
  await store.close();
  appendFileSync(segmentsOf(dir)[0]!, Buffer.alloc(1 << 20));
  rmSync(join(dir, 'index'), { recursive: true });
  assert.is(await lastOf(dir, 'a'), 1);
  appendFileSync(segmentsOf(dir)[0]!, 'something else');
  assert.throws(() => openStore(dir, rethrow), /damaged at position/);
});

test('when it starts, the event store writes and flushes the last batch again, because that batch may not have reached the disk', async () => {
  const dir = storeDir();
  const store = openStore(dir, rethrow);
  await append(store, 'a', -1);
  const [from] = [store.log.end()];
  await append(store, 'a', 0, [proposedEvent(2_000_000), proposedEvent(10)]);
  const to = store.log.end();
  const copy = snapshot(dir);
  await store.close();
  const operations: string[] = [];
  const written = ((file: number, bytes: Buffer, offset: number, length: number, at: number) => {
    const count = writeSync(file, bytes, offset, length, at);
    if (pathOf(file).endsWith('.log')) operations.push(`${at}-${at + count}`);
    return count;
  }) as typeof writeSync;
  const synced = (file: number): void => {
    fdatasyncSync(file);
    if (pathOf(file).endsWith('.log')) operations.push('synced');
  };
  await withReplacedFunctions({ writeSync: written, fdatasyncSync: synced }, () => openStore(copy, rethrow).close());
  assert.is(operations.at(-1), 'synced');
  const [first, second] = operations.slice(0, -1).map((range) => range.split('-').map(Number));
  assert.equal([first![0], first![1], second![1]], [from, second![0], to]);
});

test('if writing a batch fails, the event store reports this, even if the operating system returns the error to an earlier flush', async () => {
  const failed = new Map<string, Set<number>>();
  const reportOnce = (file: number): void => {
    const reported = failed.get(pathOf(file));
    if (!reported || reported.has(file)) return;
    reported.add(file);
    throw Object.assign(new Error('EIO'), { code: 'EIO' });
  };
  const ended = Promise.withResolvers<unknown>();
  const store = openStore(storeDir(), ended.resolve);
  // Simulate an operating system that reports a failed write only once for each open file.
  const failingFdatasync = ((file, done) => {
    failed.set(pathOf(file), new Set());
    fdatasync(file, () => {
      try {
        reportOnce(file);
        done(null);
      } catch (error) {
        done(error as NodeJS.ErrnoException);
      }
    });
  }) as typeof fdatasync;
  const failingFdatasyncSync = (file: number): void => {
    fdatasyncSync(file);
    reportOnce(file);
  };
  await withReplacedFunctions({ fdatasync: failingFdatasync, fdatasyncSync: failingFdatasyncSync }, async () => {
    const answer = append(store, 'a', -1)
      .then(store.log.whenWritable)
      .then(() => append(store, 'a', 0));
    assert.match(String(await Promise.race([ended.promise, answer])), /EIO/);
  });
});

test('an event store that was killed after scavenging can start, even if its index refers to events that were removed', async () => {
  const dir = storeDir();
  let store = openStore(dir, rethrow);
  await append(store, '$$a', -1, [proposedEvent('{"$maxCount":1}', '$metadata')]);
  await append(store, 'a', -1);
  await append(store, 'other', -1);
  store = await reopened(store, dir);
  const before = snapshot(dir);
  await append(store, 'a', 0);
  await append(store, 'other', 0);
  await scavenge(store);
  assert.is(await lastOf(snapshot(dir), 'a'), 1);
  // Now test a start with the older index that was copied to `before`. Such an index may come from an earlier version
  // of the program.
  store = await reopened(store, dir);
  await scavenge(store);
  await store.close();
  rmSync(join(dir, 'index'), { recursive: true });
  cpSync(join(before, 'index'), join(dir, 'index'), { recursive: true });
  assert.is(await lastOf(dir, 'a'), 1);
  assert.is(await lastOf(dir, 'other'), 1);
});

test('a start of the event store rebuilds an index that does not match the log or cannot be read', async () => {
  const dir = storeDir();
  let store = openStore(dir, rethrow);
  await append(store, 'a', -1);
  store = await reopened(store, dir);
  const before = snapshot(dir);
  await append(store, 'a', 0);
  await append(store, 'b', -1);
  await store.close();
  rmSync(join(before, 'index'), { recursive: true });
  cpSync(join(dir, 'index'), join(before, 'index'), { recursive: true });
  assert.is(await lastOf(before, 'a'), 0);
  assert.is(await lastOf(before, 'b'), -1);
  const manifest = join(dir, 'index', 'manifest.json');
  writeFileSync(manifest, Buffer.alloc(statSync(manifest).size));
  assert.is(await lastOf(dir, 'a'), 1);
});

test('appends go to the new segment even if the previous segment could not be truncated', async () => {
  const dir = storeDir();
  const store = openStore(dir, rethrow);
  await append(store, 'a', -1);
  await withFailingFunction('ftruncateSync', 'EIO', async () => assert.throws(() => store.log.startSegment(), /EIO/));
  await append(store, 'a', 0);
  assert.is(segmentsOf(dir).length, 2);
  assert.is(await lastOf(snapshot(dir), 'a'), 1);
  await store.close();
});

const unfinished = (dir: string): string[] => readdirSync(join(dir, 'log')).filter((name) => name.endsWith('.next'));

test('if scavenging fails, its unfinished file is deleted; if a crash has left an unfinished file, the next start deletes it', async () => {
  const dir = storeDir();
  let store = openStore(dir, rethrow);
  await append(store, '$$a', -1, [proposedEvent('{"$maxCount":1}', '$metadata')]);
  await append(store, 'a', -1, [proposedEvent(), proposedEvent()]);
  store.log.startSegment();
  await withFailingFunction('writeSync', 'ENOSPC', () =>
    scavenge(store).then(
      () => assert.unreachable(),
      (error) => assert.match(error.message, 'ENOSPC'),
    ),
  );
  assert.equal(unfinished(dir), []);
  writeFileSync(`${segmentsOf(dir)[0]}.next`, 'half');
  store = await reopened(store, dir);
  assert.equal(unfinished(dir), []);
  await store.close();
});

const tables = (dir: string): string[] => {
  const manifest = join(dir, 'manifest.json');
  return existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).tables : [];
};

test('closing an index waits for a running merge', async () => {
  const dir = storeDir();
  const index = openIndex(dir);
  const fill = (round: number): void => {
    for (let i = 0; i < 32_768; i++) index.put(i, round, round * 100_000 + i);
    index.flushIfFull((round + 1) * 100_000);
  };
  const merged = Promise.withResolvers<() => void>();
  const delayedFsync = ((file, done) =>
    fsync(file, (error) => (pathOf(file).endsWith('00000005.table') ? merged.resolve(() => done(error)) : done(error)))) as typeof fsync;
  await withReplacedFunctions({ fsync: delayedFsync }, async () => {
    for (let round = 0; round < 4; round++) {
      fill(round);
      while (tables(dir).length <= round) await nextTurn();
    }
    const resumeMerge = await merged.promise;
    fill(4);
    while (tables(dir).length < 5) await nextTurn();
    let isClosed = false;
    const closing = index.close(500_000).then(() => {
      isClosed = true;
    });
    await nextTurn();
    assert.not(isClosed);
    resumeMerge();
    await closing;
  });
  assert.is(tables(dir).length, 2);
});

test.run();
