import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sharedBuffer } from '../../infra/webhooks/shared-buffer.ts';

test('memory for large bodies is of one piece: no two have the same, what is left is taken again, and there is no more of it', () => {
  const hold = sharedBuffer(10);
  const isFull = (bytes: number) =>
    assert.throws(
      () => hold(bytes),
      (error: { code: string }) => error.code === 'unavailable',
    );
  const [first, second, third] = [hold(3), hold(3), hold(4)];
  isFull(1);
  first!.bytes.fill(1);
  second!.bytes.fill(2);
  third!.bytes.fill(3);
  assert.equal([...first!.bytes, ...second!.bytes, ...third!.bytes], [1, 1, 1, 2, 2, 2, 3, 3, 3, 3]);
  second!.release();
  second!.release();
  isFull(4);
  assert.equal([...hold(2).bytes], [2, 2]);
  isFull(2);
  hold(1);
  isFull(1);
});

test.run();
