import * as assert from 'uvu/assert';
import { revisionAt } from '../infra/eventstore/embedded/record.ts';
import { openStore } from '../infra/eventstore/embedded/store.ts';
import { streamPage } from '../infra/eventstore/embedded/stream-page.ts';
import { test } from './ending.ts';
import { append, proposed, unexpected } from './store-inside.ts';
import { storeDir } from './store-process.ts';

const LARGE = 100_000;

for (const backwards of [false, true])
  test(`a page of large events is of few of them, ${backwards ? 'backwards' : 'forwards'}, and the pages are the whole stream`, async () => {
    const store = openStore(storeDir(), unexpected);
    for (let at = -1; at < 39; at++) await append(store, 'large', at, [proposed(at % 10 === 0 ? 10 : LARGE)]);
    for (let at = -1; at < 600; at += 100)
      await append(
        store,
        'small',
        at,
        Array.from({ length: 100 }, () => proposed()),
      );
    for (const [name, most] of [
      ['large', 3],
      ['small', 256],
    ] as const) {
      const stream = store.streams.get(name);
      const seen: number[] = [];
      const range = { from: 0, to: stream.last, backwards };
      while (range.from <= range.to) {
        const before = seen.length;
        const next = streamPage(store, stream, range, (bytes, at) => seen.push(revisionAt(bytes, at)));
        assert.ok(seen.length > before && seen.length - before <= most, `${seen.length - before} events of ${name} in a page`);
        if (backwards) range.to = next;
        else range.from = next;
      }
      const all = Array.from({ length: stream.last + 1 }, (_, revision) => revision);
      assert.equal(seen, backwards ? all.reverse() : all);
    }
    await store.close();
  });

test.run();
