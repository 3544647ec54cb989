import { setTimeout as sleep } from 'node:timers/promises';
import { checkDrafts } from '../blobs/blob-drafts.ts';
import type { BlobPlace } from '../blobs/open-blob-store.ts';
import { memoizeFor } from './readiness.ts';

/** The time in milliseconds for which the result of a probe is reused. Each probe is a request to the object store. */
const PROBE_TTL_MS = 10_000;
/** The maximum time in milliseconds that a caller waits for a probe. After that, it gets the result of the previous probe. */
const PROBE_WAIT_MS = 300;

const check = async ({ backend, drafts }: BlobPlace): Promise<unknown> => {
  try {
    await checkDrafts(drafts);
    await backend.probe();
    return null;
  } catch (error) {
    return error;
  }
};

/** Creates the function that returns why the file store does not work, for /readyz and the metrics; null if it works. */
export const createBlobHealth = (place: BlobPlace | null): (() => Promise<string | null>) => {
  let last: string | null = null;
  const probe = memoizeFor(PROBE_TTL_MS, async () => {
    const error = await (place ? check(place) : null);
    last = error ? (error as Error).message : null;
    return last;
  });
  return () => Promise.race([probe(), sleep(PROBE_WAIT_MS, undefined, { ref: false }).then(() => last)]);
};
