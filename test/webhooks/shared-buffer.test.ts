import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sharedBuffer } from '../../infra/webhooks/shared-buffer.ts';

test('large bodies share one bounded buffer; their ranges never overlap, and a released range is used again', () => {
  const allocate = sharedBuffer(10);
  const isFull = (bytes: number) =>
    assert.throws(
      () => allocate(bytes),
      (error: { code: string }) => error.code === 'unavailable',
    );
  const [first, second, third] = [allocate(3), allocate(3), allocate(4)];
  isFull(1);
  first!.bytes.fill(1);
  second!.bytes.fill(2);
  third!.bytes.fill(3);
  assert.equal([...first!.bytes, ...second!.bytes, ...third!.bytes], [1, 1, 1, 2, 2, 2, 3, 3, 3, 3]);
  second!.release();
  second!.release();
  isFull(4);
  assert.equal([...allocate(2).bytes], [2, 2]);
  isFull(2);
  allocate(1);
  isFull(1);
});

test.run();
