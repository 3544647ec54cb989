import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { checkDrafts } from '../blobs/blob-drafts.ts';
import type { BlobPlace } from '../blobs/open-blob-store.ts';
import { memoizeFor } from './readiness.ts';

/** The time in milliseconds for which the result of a probe is reused. Each probe is a request to the object store. */
const PROBE_TTL_MS = 10_000;
/**
 * The maximum time in milliseconds that a caller waits for a probe. After that, it gets the result of the previous
 * probe.
 */
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

/**
 * Creates the function that returns whether the file store works, for /readyz and the metrics. It logs each change of
 * the result. It returns true if no file store is configured.
 */
export const createBlobHealth = (place: BlobPlace | null, logger: Logger): (() => Promise<boolean>) => {
  let isUp = true;
  const probe = memoizeFor(PROBE_TTL_MS, async () => {
    const error = await (place ? check(place) : null);
    if (error && isUp) logger.warn({ err: error }, 'the file store does not work');
    if (!error && !isUp) logger.info('the file store works again');
    isUp = !error;
    return isUp;
  });
  return () => Promise.race([probe(), sleep(PROBE_WAIT_MS, undefined, { ref: false }).then(() => isUp)]);
};
