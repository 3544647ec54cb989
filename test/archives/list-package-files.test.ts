import { hash } from 'node:crypto';
import { test } from 'uvu';
import { equal, is } from 'uvu/assert';
import type { Blobs } from '../../commands/blobs.ts';
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

test('a caller does not wait for an archive that takes long; a later one gets the list', async () => {
  const files = createPackageFiles(10);
  const { blobs, open } = slowStore();
  is(await files(blobs, DIGEST), null);
  open();
  const isOver = deadline(10_000);
  while ((await files(blobs, DIGEST)) === null) is(isOver(), false, 'the archive is read');
  is((await files(blobs, DIGEST))!.length > 0, true);
});

test('archives are read one after another; one that cannot be read yields null and is tried again', async () => {
  const files = createPackageFiles();
  let [running, most, failures] = [0, 0, 0];
  const failing = {
    get: async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      failures++;
      throw new Error('broken');
    },
  } as unknown as Blobs;
  equal(await Promise.all(['a', 'b', 'c'].map((digest) => files(failing, digest))), [null, null, null]);
  is(most, 1);
  is(await files(failing, 'a'), null);
  is(failures, 4);
});

test.run();
