import { setTimeout as sleep } from 'node:timers/promises';
import { type Blobs, readAll } from '../../commands/blobs.ts';
import { filesInArchive, type PackageFile, type PackageFiles } from '../../commands/skills/package-files.ts';
import { createLruMap } from '../lru-map.ts';
import { unpackZip } from './unpack-zip.ts';

/** The maximum number of archives, and of all their files, whose lists stay in memory. A file takes about 200 bytes. */
const MAX_ARCHIVES = 1_000;
const MAX_FILES = 50_000;
/** A caller does not wait longer than this for a list, in milliseconds. */
const MAX_WAIT_MS = 2_000;

type Files = readonly PackageFile[];

/**
 * Creates the function that lists the files of archives. An archive is in memory as a whole while it is read, so only
 * one is read at a time, once for all callers. The list stays in memory, because an archive never changes.
 */
export const createPackageFiles = (maxWaitMs = MAX_WAIT_MS): PackageFiles => {
  const known = createLruMap<string, Files>({ capacity: MAX_ARCHIVES, maxWeight: MAX_FILES, weightOf: (files) => files.length });
  const reading = new Map<string, Promise<Files | null>>();
  let last: Promise<unknown> = Promise.resolve();

  const read = async (blobs: Blobs, digest: string): Promise<Files | null> => {
    const blob = await blobs.get(digest);
    if (!blob) return null;
    const files = await filesInArchive(unpackZip, await readAll(blob.content));
    known.set(digest, files);
    return files;
  };
  const start = (blobs: Blobs, digest: string): Promise<Files | null> => {
    const started = last
      .then(() => read(blobs, digest))
      .catch(() => null)
      .finally(() => reading.delete(digest));
    reading.set(digest, started);
    last = started;
    return started;
  };
  return async (blobs, digest) =>
    known.get(digest) ?? Promise.race([reading.get(digest) ?? start(blobs, digest), sleep(maxWaitMs, null, { ref: false })]);
};
