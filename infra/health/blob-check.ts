import type { BlobBackend } from '../blobs/blob-backend.ts';
import { checkDrafts } from '../blobs/blob-drafts.ts';
import { parseBlobsUrl } from '../blobs/blob-location.ts';
import { type BlobPlace, findBlobsUrl, openBlobPlace } from '../blobs/open-blob-store.ts';
import type { Config } from '../config.ts';
import { fail, none, ok, type Result } from './finding.ts';

const adviceFor = (blobsUrl: string): string => {
  const location = parseBlobsUrl(blobsUrl);
  return location?.kind === 'bucket'
    ? `correct BLOBS_URL or ANNALS_DATA, start the object store, or grant the key access to the bucket ${location.bucket}`
    : 'make the directory readable and writable for the user of the platform, or free disk space';
};

/**
 * Checks the place where files are stored. `ask` runs the check on the place's backend; by default, a thorough check.
 */
export const checkBlobPlace = async (
  place: BlobPlace | null,
  blobsUrl: string | undefined,
  ask: (backend: BlobBackend) => Promise<string> = (backend) => backend.check(),
): Promise<Result> => {
  if (!place) return none('not checked: annals serve stores no files without BLOBS_URL');
  try {
    await checkDrafts(place.drafts);
    return ok(await ask(place.backend));
  } catch (error) {
    return fail((error as Error).message, adviceFor(blobsUrl!));
  }
};

/** Checks that files can be stored, read and removed. */
export const checkBlobStore = async (config: Config): Promise<Result> => checkBlobPlace(await openBlobPlace(config), findBlobsUrl(config));
