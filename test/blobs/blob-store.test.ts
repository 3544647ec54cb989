import { createHash, randomBytes } from 'node:crypto';
import { copyFileSync, globSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Blobs } from '../../commands/blobs.ts';
import { blobPath } from '../../infra/blobs/blob-directory.ts';
import { defaultBlobsUrl } from '../../infra/blobs/blob-location.ts';
import { openBlobPlace, openBlobStore } from '../../infra/blobs/open-blob-store.ts';
import { CHUNK_BYTES, HEADER_BYTES, SEALED_CHUNK_BYTES } from '../../infra/blobs/sealed-blob.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const openTestStore = async () => {
  const { dir } = createTempDirectory();
  const vault = await openVault({ log: memoryLog(), masterKeyFile: join(dir, 'master.key') });
  const root = join(dir, 'blobs');
  const store = openBlobStore(await openBlobPlace({ blobsUrl: defaultBlobsUrl(dir), annalsData: dir }), vault);
  return { root, store, acme: store.of('acme'), pathOf: (sha256: string, tenant = 'acme') => blobPath(root, { tenant, sha256 }) };
};

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const readAll = async (blobs: Blobs, sha256: string): Promise<Buffer | null> => {
  const blob = await blobs.get(sha256);
  return blob && Buffer.concat(await Array.fromAsync(blob.content));
};

const errorOf = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => assert.unreachable('it must fail') as never,
    (error: Error) => error,
  );

/** Asserts that the damaged file is reported by `get` itself, before any byte is returned. */
const isRefusedAtOnce = async (blobs: Blobs, sha256: string): Promise<void> =>
  assert.is((await errorOf(blobs.get(sha256))).name, 'BlobDamaged');

/** Asserts that reading the damaged file fails, and that all bytes before the failure are correct. */
const isDamaged = async (blobs: Blobs, sha256: string, original: Buffer): Promise<void> => {
  const read: Uint8Array[] = [];
  const readPieces = async (): Promise<void> => {
    for await (const piece of (await blobs.get(sha256))!.content) read.push(piece);
  };
  assert.is((await errorOf(readPieces())).name, 'BlobDamaged');
  const yielded = Buffer.concat(read);
  assert.ok(original.subarray(0, yielded.length).equals(yielded), 'a changed byte was yielded');
};

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/**
 * Calls `onStep` each time a file is flushed to disk or linked under a name. @returns a function that ends the
 * observation
 */
const observeFiles = (onStep: (step: string) => void): (() => void) => {
  const { open, link } = fs;
  const patched = {
    open: async (...args: Parameters<typeof open>): Promise<FileHandle> => {
      const handle = await open(...args);
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        onStep(`sync ${args[0]}`);
        await sync();
      };
      return handle;
    },
    link: async (from: string, to: string): Promise<void> => {
      onStep(`link ${to}`);
      await link(from, to);
    },
  };
  Object.assign(fs, patched);
  syncBuiltinESMExports();
  return () => {
    Object.assign(fs, { open, link });
    syncBuiltinESMExports();
  };
};

const SIZES = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 3 * CHUNK_BYTES + 17];

for (const size of SIZES)
  test(`reading a content of ${size} bytes returns it unchanged, whether it was stored as bytes or as a stream`, async () => {
    const { acme } = await openTestStore();
    const bytes = randomBytes(size);
    const stored = { sha256: sha256Of(bytes), size };
    assert.equal(await acme.put(inPieces(bytes, 70_001)), stored);
    assert.equal(await acme.put(bytes), stored);
    assert.is((await acme.get(stored.sha256))!.size, size);
    assert.ok((await readAll(acme, stored.sha256))!.equals(bytes));
  });

test('a content can be read only by the tenant that stored it; for other tenants, reading it fails with the error not found', async () => {
  const { acme, store } = await openTestStore();
  const { sha256 } = await acme.put(Buffer.from('of acme'));
  assert.is(await acme.exists(sha256), true);
  assert.is(await store.of('other').exists(sha256), false);
  assert.is(await store.of('other').get(sha256), null);
});

test('reading an unknown or malformed digest fails with the error not found', async () => {
  const { acme } = await openTestStore();
  for (const digest of ['0'.repeat(64), '../../../etc/passwd', 'A'.repeat(64), '']) {
    assert.is(await acme.exists(digest), false);
    assert.is(await acme.get(digest), null);
  }
});

test('a stored file has the mode 0600 and does not contain the plaintext, and no temporary file remains', async () => {
  const { acme, root, pathOf } = await openTestStore();
  const bytes = Buffer.alloc(100_000, 'plain text ');
  const { sha256 } = await acme.put(bytes);
  assert.is(statSync(pathOf(sha256)).mode & 0o777, 0o600);
  assert.is(readFileSync(pathOf(sha256)).includes('plain text'), false);
  assert.equal(readdirSync(join(root, 'drafts')), []);
});

test('if the source stream of a content fails, put throws the error of that stream and stores nothing', async () => {
  const { acme, root } = await openTestStore();
  const failing = async function* () {
    yield randomBytes(CHUNK_BYTES * 2);
    throw new Error('the upload broke off');
  };
  assert.is((await errorOf(acme.put(failing()))).message, 'the upload broke off');
  assert.equal(readdirSync(root), ['drafts']);
  assert.equal(readdirSync(join(root, 'drafts')), []);
});

test('if twenty puts store the same content at the same time, it is stored once', async () => {
  const { acme, root } = await openTestStore();
  const bytes = randomBytes(600_000);
  const stored = await Promise.all(Array.from({ length: 20 }, () => acme.put(bytes)));
  assert.is(new Set(stored.map(({ sha256 }) => sha256)).size, 1);
  assert.is(globSync('acme/*/*', { cwd: root }).length, 1);
  assert.ok((await readAll(acme, stored[0]!.sha256))!.equals(bytes));
});

test('storing a content again while it is read does not affect the read', async () => {
  const { acme } = await openTestStore();
  const bytes = randomBytes(CHUNK_BYTES * 6);
  const { sha256 } = await acme.put(bytes);
  const read: Uint8Array[] = [];
  for await (const piece of (await acme.get(sha256))!.content) {
    read.push(piece);
    await acme.put(bytes);
  }
  assert.ok(Buffer.concat(read).equals(bytes));
});

test('storing a content again replaces the stored file if that file is damaged', async () => {
  const { acme, pathOf } = await openTestStore();
  const bytes = randomBytes(CHUNK_BYTES * 2);
  const { sha256 } = await acme.put(bytes);
  truncateSync(pathOf(sha256), CHUNK_BYTES);
  await isRefusedAtOnce(acme, sha256);
  await acme.put(bytes);
  assert.ok((await readAll(acme, sha256))!.equals(bytes));
});

test('if a bit anywhere in a stored file was changed, reading fails before it returns a wrong byte', async () => {
  const { acme, pathOf } = await openTestStore();
  const bytes = randomBytes(CHUNK_BYTES * 2 + 100);
  const { sha256 } = await acme.put(bytes);
  const sealed = readFileSync(pathOf(sha256));
  const positions = [...Array(HEADER_BYTES).keys(), HEADER_BYTES, HEADER_BYTES + SEALED_CHUNK_BYTES - 1, sealed.length - 1];
  for (const position of positions) {
    const changed = Buffer.from(sealed);
    changed[position]! ^= 0x10;
    writeFileSync(pathOf(sha256), changed);
    await isDamaged(acme, sha256, bytes);
  }
});

test('reading a stored file fails if the file was truncated or extended at any chunk boundary', async () => {
  const { acme, pathOf } = await openTestStore();
  const { sha256 } = await acme.put(randomBytes(CHUNK_BYTES * 3));
  const sealed = readFileSync(pathOf(sha256));
  const ends = [
    0,
    HEADER_BYTES - 1,
    HEADER_BYTES,
    HEADER_BYTES + SEALED_CHUNK_BYTES,
    HEADER_BYTES + 2 * SEALED_CHUNK_BYTES,
    sealed.length - 1,
  ];
  for (const end of ends) {
    writeFileSync(pathOf(sha256), sealed.subarray(0, end));
    await isRefusedAtOnce(acme, sha256);
  }
  writeFileSync(pathOf(sha256), Buffer.concat([sealed, sealed.subarray(HEADER_BYTES, HEADER_BYTES + SEALED_CHUNK_BYTES)]));
  await isRefusedAtOnce(acme, sha256);
});

test('reading a stored file fails if chunks were swapped, repeated or copied from another content of the tenant', async () => {
  const { acme, pathOf } = await openTestStore();
  const original = randomBytes(CHUNK_BYTES * 3);
  const [one, two] = [await acme.put(original), await acme.put(randomBytes(CHUNK_BYTES * 3))];
  const [sealed, other] = [readFileSync(pathOf(one.sha256)), readFileSync(pathOf(two.sha256))];
  const chunk = (from: Buffer, index: number): Buffer =>
    from.subarray(HEADER_BYTES + index * SEALED_CHUNK_BYTES).subarray(0, SEALED_CHUNK_BYTES);
  const header = sealed.subarray(0, HEADER_BYTES);
  const forgeries = [
    [chunk(sealed, 1), chunk(sealed, 0), chunk(sealed, 2)],
    [chunk(sealed, 0), chunk(sealed, 0), chunk(sealed, 2)],
    [chunk(sealed, 0), chunk(other, 1), chunk(sealed, 2)],
    [chunk(other, 0), chunk(other, 1), chunk(other, 2)],
  ];
  for (const chunks of forgeries) {
    writeFileSync(pathOf(one.sha256), Buffer.concat([header, ...chunks]));
    await isDamaged(acme, one.sha256, original);
  }
});

test('reading a stored file fails if it was copied to the path of another digest or tenant', async () => {
  const { acme, store, pathOf } = await openTestStore();
  const other = store.of('other');
  const [one, two] = [await acme.put(Buffer.from('one')), await acme.put(Buffer.from('two'))];
  await other.put(Buffer.from('one'));
  copyFileSync(pathOf(two.sha256), pathOf(one.sha256));
  await isRefusedAtOnce(acme, one.sha256);
  copyFileSync(pathOf(two.sha256), pathOf(one.sha256, 'other'));
  await isRefusedAtOnce(other, one.sha256);
});

test('put flushes a content to the disk before the file gets its final name, and resolves only after the directories are flushed, too', async () => {
  const { acme, root, pathOf } = await openTestStore();
  const steps: string[] = [];
  const restore = observeFiles((step) => steps.push(step.replace(root, '').replace(/drafts\/.*/, 'drafts/draft')));
  try {
    const { sha256 } = await acme.put(Buffer.from('content'));
    const path = pathOf(sha256).replace(root, '');
    const [group, tenant] = [dirname(path), dirname(dirname(path))];
    const named = steps.indexOf(`link ${path}`);
    assert.ok(named > 0);
    for (const step of ['sync /drafts/draft', `sync ${tenant}`, 'sync ']) assert.ok(steps.slice(0, named).includes(step), step);
    assert.ok(steps.slice(named).includes(`sync ${group}`));
  } finally {
    restore();
  }
});

test.run();
