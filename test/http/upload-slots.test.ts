import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { createUploadSlots } from '../../infra/http/upload-slots.ts';

/** Starts one upload for each of these tenants. Calling a function in `finish` ends the upload with the same index. */
const startUploads = (tenants: readonly string[]) => {
  const withSlot = createUploadSlots();
  const started: number[] = [];
  const finish: (() => void)[] = [];
  const results = tenants.map((tenant, index) =>
    withSlot(tenant, () => {
      started.push(index);
      return new Promise<number>((resolve) => {
        finish[index] = () => resolve(index);
      });
    }).catch((error: unknown) => error),
  );
  return { started, finish, results };
};

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("a tenant's first two uploads run at the same time; its third one waits, and does not delay an upload of another tenant", async () => {
  const { started, finish, results } = startUploads(['a', 'a', 'a', 'b']);
  assert.equal(started, [0, 1, 3]);
  finish[1]!();
  await nextTurn();
  assert.equal(started, [0, 1, 3, 2]);
  for (const index of [0, 2, 3]) finish[index]!();
  assert.equal(await Promise.all(results), [0, 1, 2, 3]);
});

test('at most six uploads run at the same time in total; when one ends, the upload that has waited longest starts', async () => {
  const { started, finish, results } = startUploads(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
  assert.equal(started, [0, 1, 2, 3, 4, 5]);
  finish[3]!();
  await nextTurn();
  assert.equal(started.slice(6), [6]);
  finish[0]!();
  await nextTurn();
  assert.equal(started.slice(6), [6, 7]);
  for (const end of finish) end();
  assert.equal(await Promise.all(results), [0, 1, 2, 3, 4, 5, 6, 7]);
});

test('while 24 uploads are waiting, another upload is refused at once', async () => {
  const { finish, results } = startUploads(Array.from({ length: 27 }, () => 'a'));
  const refused = (await results[26]) as Refusal;
  assert.ok(refused instanceof Refusal);
  assert.equal([refused.code, refused.extra.retryAfter], ['unavailable', 5]);
  for (let index = 0; index < 26; index++) {
    finish[index]!();
    await nextTurn();
  }
  assert.equal(
    await Promise.all(results.slice(0, 26)),
    Array.from({ length: 26 }, (_, index) => index),
  );
});

test('an upload that fails frees its place for another upload', async () => {
  const withSlot = createUploadSlots();
  const failing = () => withSlot('a', () => Promise.reject(new Error('failed'))).catch(() => 'failed');
  assert.equal(await Promise.all([failing(), failing(), failing()]), ['failed', 'failed', 'failed']);
  assert.is(await withSlot('a', async () => 'done'), 'done');
});

test.run();
