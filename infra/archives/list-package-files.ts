import { setTimeout as sleep } from 'node:timers/promises';
import { type Blobs, readAll } from '../../commands/blobs.ts';
import { filesInArchive, type PackageFile, type PackageFiles } from '../../commands/skills/package-files.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createLruMap } from '../lru-map.ts';
import { unpackZip } from './unpack-zip.ts';

/** The maximum number of archives, and of all their files, whose lists stay in memory. A file takes about 200 bytes. */
const MAX_ARCHIVES = 1_000;
const MAX_FILES = 50_000;
/** A caller does not wait longer than this for a list, in milliseconds. */
const MAX_WAIT_MS = 2_000;
/** After an archive could not be read, it is not read again for this time. */
const RETRY_AFTER_MS = 60_000;

type Files = readonly PackageFile[];
type Options = {
  readonly maxWaitMs?: number;
  /** In milliseconds. */
  readonly now?: () => number;
  /** Called with the errors that are not refusals. */
  readonly report?: (error: unknown) => void;
};

/**
 * Creates the function that lists the files of archives. The whole archive is in memory while it is read, so only one is
 * read at a time, once for all callers. The list is cached, because an archive never changes. A failure is cached for a
 * minute, so that requests for unreadable archives do not delay the others.
 */
export const createPackageFiles = ({
  maxWaitMs = MAX_WAIT_MS,
  now = () => performance.now(),
  report = () => {},
}: Options = {}): PackageFiles => {
  const known = createLruMap<string, Files>({ capacity: MAX_ARCHIVES, maxWeight: MAX_FILES, weightOf: (files) => files.length });
  const failedAt = createLruMap<string, number>({ capacity: MAX_ARCHIVES });
  const reading = new Map<string, Promise<Files | null>>();
  let last: Promise<unknown> = Promise.resolve();

  const read = async (blobs: Blobs, digest: string): Promise<Files | null> => {
    const blob = await blobs.get(digest);
    if (!blob) return null;
    return filesInArchive(unpackZip, await readAll(blob.content));
  };
  const readOrNull = async (blobs: Blobs, digest: string): Promise<Files | null> => {
    const files = await read(blobs, digest).catch((error: unknown) => {
      if (!(error instanceof Refusal)) report(error);
      return null;
    });
    if (files) known.set(digest, files);
    else failedAt.set(digest, now());
    return files;
  };
  const hasFailed = (digest: string): boolean => now() - (failedAt.peek(digest) ?? Number.NEGATIVE_INFINITY) < RETRY_AFTER_MS;
  const start = (blobs: Blobs, digest: string): Promise<Files | null> => {
    const started = last.then(() => readOrNull(blobs, digest)).finally(() => reading.delete(digest));
    reading.set(digest, started);
    last = started;
    return started;
  };
  return async (blobs, digest) => {
    const files = known.get(digest);
    if (files) return files;
    if (hasFailed(digest)) return null;
    return Promise.race([reading.get(digest) ?? start(blobs, digest), sleep(maxWaitMs, null, { ref: false })]);
  };
};
