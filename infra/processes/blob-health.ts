import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BlobPlace } from '../blobs/open-blob-store.ts';
import { memoizeFor } from './readiness.ts';

/** How long the result of a probe is reused: each one is a request to the object store. */
const PROBE_TTL_MS = 10_000;
/** How long /readyz waits for a probe. After that, it reports the result of the one before. */
const PROBE_WAIT_MS = 300;

const [UP, DOWN]: readonly (readonly string[])[] = [[], ['file store']];

/** Creates the function that lists the file store as degraded for /readyz while a probe of it fails. */
export const createBlobHealth = (place: BlobPlace | null, logger: Logger): (() => Promise<readonly string[]>) => {
  let last = UP!;
  const setLast = (next: readonly string[], error?: unknown): readonly string[] => {
    if (next === DOWN && last === UP) logger.warn({ err: error }, 'the file store does not work');
    if (next === UP && last === DOWN) logger.info('the file store works again');
    last = next;
    return next;
  };
  const probe = memoizeFor(PROBE_TTL_MS, async () => {
    try {
      await place?.backend.probe();
      return setLast(UP!);
    } catch (error) {
      return setLast(DOWN!, error);
    }
  });
  return async () => Promise.race([probe(), sleep(PROBE_WAIT_MS, undefined, { ref: false }).then(() => last)]);
};
