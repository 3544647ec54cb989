import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keyOf } from '../../infra/eventstore/embedded/index/stream-key.ts';
import { openStore } from '../../infra/eventstore/embedded/store.ts';
import { append, rethrow, withFailingFunction } from '../fixtures/embedded-store.ts';
import { storeDir } from '../fixtures/store-process.ts';

test('appends fail while the disk is full and succeed when there is space again', async () => {
  const dir = storeDir();
  const store = openStore(dir, rethrow);
  assert.is((await append(store, 'a', -1)).kind, 'done');
  await withFailingFunction('writeSync', 'ENOSPC', async () => {
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
  const again = openStore(dir, rethrow);
  assert.is(again.log.end(), end);
  assert.is(again.streams.get('a').last, 1);
  await again.close();
});

for (const code of ['EIO', 'ENOSPC'])
  test(`if a sync of the log to the disk fails with ${code}, the event store reports a fatal error and does not answer the append`, async () => {
    let isAnswered = false;
    const ended = Promise.withResolvers<unknown>();
    const store = openStore(storeDir(), ended.resolve);
    assert.is((await append(store, 'a', -1)).kind, 'done');
    await withFailingFunction('fdatasyncSync', code, async () => {
      const answer = append(store, 'a', 0).then(() => {
        isAnswered = true;
      });
      assert.match(String(await Promise.race([ended.promise, answer])), code);
      await new Promise((resolve) => setImmediate(resolve));
    });
    assert.not(isAnswered);
  });

test('events of two streams whose names have the same hash are not confused', async () => {
  const { createStreamCache } = await import('../../infra/eventstore/embedded/index/stream-cache.ts');
  const store = openStore(storeDir(), rethrow);
  await append(store, 'first', -1);
  const colliding = createStreamCache(store.log, store.index, (name, probe = 0) => (probe === 0 ? keyOf('first') : keyOf(name, probe)));
  assert.is(colliding.get('first').last, 0);
  const second = colliding.get('second');
  assert.is(second.last, -1);
  assert.is.not(second.key, colliding.get('first').key);
  await store.close();
});

test.run();
