import type { BlobBackend } from '../blobs/blob-backend.ts';
import { checkDrafts } from '../blobs/blob-drafts.ts';
import { parseBlobsUrl } from '../blobs/blob-location.ts';
import { ObjectStoreError } from '../blobs/object-store-error.ts';
import { type BlobPlace, findBlobsUrl, openBlobPlace } from '../blobs/open-blob-store.ts';
import type { Config } from '../config.ts';
import { fileAdvice } from './file-cause.ts';
import { fail, none, ok, type Result } from './finding.ts';

const bucketAdvice = ({ status, code }: ObjectStoreError, bucket: string): string => {
  if (status === 0) return 'start the object store, or correct the host in BLOBS_URL';
  if (status === 429 || status >= 500) return 'wait for the object store, and read its log';
  if (status === 404 || code === 'NoSuchBucket') return `create the bucket ${bucket}, or correct BLOBS_URL`;
  if (status === 401 || status === 403) return `correct the key in BLOBS_URL, or grant it access to the bucket ${bucket}`;
  return `correct BLOBS_URL: the object store does not accept requests for the bucket ${bucket}`;
};

/** Returns what to do about an error of the file store. Before a file goes to a bucket, it is written to `drafts`. */
const adviceFor = (error: unknown, blobsUrl: string, drafts: string): string => {
  const location = parseBlobsUrl(blobsUrl);
  if (location?.kind === 'bucket' && error instanceof ObjectStoreError) return bucketAdvice(error, location.bucket);
  const directory = location?.kind === 'directory' ? location.path : drafts;
  return fileAdvice(error, directory) ?? `check the disk of ${directory}, and correct BLOBS_URL`;
};

/** `ask` runs the check on the place's backend; by default, a thorough one. */
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
    return fail((error as Error).message, adviceFor(error, blobsUrl!, place.drafts));
  }
};

/** Checks that files can be stored, read and removed. */
export const checkBlobStore = async (config: Config): Promise<Result> => checkBlobPlace(await openBlobPlace(config), findBlobsUrl(config));
