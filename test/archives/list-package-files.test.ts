import { hash } from 'node:crypto';
import { test } from 'uvu';
import { equal, is } from 'uvu/assert';
import type { Blobs } from '../../commands/blobs.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createPackageFiles } from '../../infra/archives/list-package-files.ts';
import { deadline } from '../fixtures/load-factor.ts';
import { skillArchive } from '../fixtures/zip-archive.ts';

const archive = skillArchive('one');
const DIGEST = hash('sha256', archive, 'hex');

/** A store that has one archive. `open` lets it be read, and `reads` counts how often it was read. */
const slowStore = () => {
  let reads = 0;
  const { promise, resolve: open } = Promise.withResolvers<void>();
  const blobs: Pick<Blobs, 'get'> = {
    get: async (digest) => {
      reads++;
      await promise;
      return digest === DIGEST
        ? {
            size: archive.length,
            content: (async function* () {
              yield archive;
            })(),
          }
        : null;
    },
  };
  return { blobs: blobs as Blobs, open, reads: () => reads };
};

test('an archive is read once for all callers, and its list stays in memory', async () => {
  const files = createPackageFiles();
  const { blobs, open, reads } = slowStore();
  const lists = [files(blobs, DIGEST), files(blobs, DIGEST)];
  open();
  const [one, two] = await Promise.all(lists);
  equal(one!.map(({ path }) => path).includes('SKILL.md'), true);
  equal([one, await files(blobs, DIGEST)], [two, two]);
  is(reads(), 1);
});

test('a caller does not wait for an archive that takes long to read; a later caller gets its list', async () => {
  const files = createPackageFiles({ maxWaitMs: 10 });
  const { blobs, open } = slowStore();
  is(await files(blobs, DIGEST), null);
  open();
  const isOver = deadline(10_000);
  while ((await files(blobs, DIGEST)) === null) is(isOver(), false, 'the archive is read');
  is((await files(blobs, DIGEST))!.length > 0, true);
});

/** A store whose archives cannot be read. `reads` counts the attempts, and `most` those at the same time. */
const brokenStore = (error: Error) => {
  let [running, most, reads] = [0, 0, 0];
  const get = async (): Promise<never> => {
    reads++;
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running--;
    throw error;
  };
  return { blobs: { get } as unknown as Blobs, most: () => most, reads: () => reads };
};

test('archives are read one after another; one that cannot be read yields null and is tried again after a minute', async () => {
  let now = 0;
  const files = createPackageFiles({ now: () => now });
  const { blobs, most, reads } = brokenStore(new Error('broken'));
  equal(await Promise.all(['a', 'b', 'c'].map((digest) => files(blobs, digest))), [null, null, null]);
  is(most(), 1);
  now = 59_999;
  is(await files(blobs, 'a'), null);
  is(reads(), 3);
  now = 60_000;
  is(await files(blobs, 'a'), null);
  is(reads(), 4);
});

test('the list of an archive that could not be read is there a minute later, once it can be read', async () => {
  let now = 0;
  const files = createPackageFiles({ now: () => now });
  is(await files(brokenStore(new Error('broken')).blobs, DIGEST), null);
  const { blobs, open } = slowStore();
  open();
  is(await files(blobs, DIGEST), null);
  now = 60_000;
  is((await files(blobs, DIGEST))!.length > 0, true);
});

test('an unexpected error is reported, and a refusal is not', async () => {
  const reported: unknown[] = [];
  const files = createPackageFiles({ report: (error) => reported.push(error) });
  const bug = new Error('a bug');
  await files(brokenStore(new Refusal('unavailable', 'The file store cannot be reached')).blobs, 'a');
  await files(brokenStore(bug).blobs, 'b');
  equal(reported, [bug]);
});

test.run();
