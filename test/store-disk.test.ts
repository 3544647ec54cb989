import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Outcome } from '../infra/eventstore/embedded/decide.ts';
import { keyOf } from '../infra/eventstore/embedded/hash.ts';
import { openStore, type Store } from '../infra/eventstore/embedded/store.ts';
import { spanOf } from '../infra/eventstore/embedded/wire.ts';
import { storeDir } from './store-process.ts';

const proposed = (size = 10) => ({
  id: spanOf(Buffer.from(randomUUID())),
  type: spanOf(Buffer.from('happened')),
  json: false,
  data: spanOf(Buffer.alloc(size, 1)),
  custom: spanOf(Buffer.alloc(0)),
});

const append = (store: Store, stream: string, expected: number): Promise<Outcome | { kind: 'late' }> =>
  new Promise((answer) =>
    store.writer.submit({ wish: { kind: 'append', stream, expected, events: [proposed()] }, due: Number.POSITIVE_INFINITY, answer }),
  );

/** Replaces one of the disk's functions while `work` runs. */
const failing = async (name: 'writeSync' | 'fdatasyncSync', code: string, work: () => Promise<void>): Promise<void> => {
  const sound = fs[name];
  const fail = () => {
    throw Object.assign(new Error(code), { code });
  };
  Object.assign(fs, { [name]: fail });
  syncBuiltinESMExports();
  try {
    await work();
  } finally {
    Object.assign(fs, { [name]: sound });
    syncBuiltinESMExports();
  }
};

const unexpected = (error: unknown): never => {
  throw error;
};

test('a full disk refuses, and is forgotten when there is room again', async () => {
  const dir = storeDir();
  const store = openStore(dir, unexpected);
  assert.is((await append(store, 'a', -1)).kind, 'done');
  await failing('writeSync', 'ENOSPC', async () => {
    const refused = await Promise.all([append(store, 'a', 0), append(store, 'a', 1), append(store, 'new', -1)]);
    assert.equal(
      refused.map(({ kind }) => kind),
      ['failed', 'failed', 'failed'],
    );
  });
  assert.equal({ ...(await append(store, 'a', 0)), position: 0 }, { kind: 'done', revision: 1, position: 0 });
  assert.is((await append(store, 'new', -1)).kind, 'done');
  const end = store.log.end();
  await store.close();
  const again = openStore(dir, unexpected);
  assert.is(again.log.end(), end);
  assert.is(again.streams.get('a').last, 1);
  await again.close();
});

test('after a failed sync nothing is answered any more, and the process is ended', async () => {
  let ended = '';
  const store = openStore(storeDir(), (error) => {
    ended = String(error);
  });
  assert.is((await append(store, 'a', -1)).kind, 'done');
  let answered = false;
  await failing('fdatasyncSync', 'EIO', async () => {
    void append(store, 'a', 0).then(() => {
      answered = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
  });
  assert.match(ended, /EIO/);
  assert.not(answered);
});

test('streams whose names have one key are kept apart', async () => {
  const { createStreams } = await import('../infra/eventstore/embedded/streams.ts');
  const store = openStore(storeDir(), unexpected);
  await append(store, 'first', -1);
  const colliding = createStreams(store.log, store.index, (name, probe = 0) => (probe === 0 ? keyOf('first') : keyOf(name, probe)));
  assert.is(colliding.get('first').last, 0);
  const second = colliding.get('second');
  assert.is(second.last, -1);
  assert.is.not(second.key, colliding.get('first').key);
  await store.close();
});

test.run();
