import { type FileHost, MAX_MEMORY_FILE_BYTES } from '../../commands/memory/import-memory.ts';
import { failedEgressOf } from '../egress/egress-error.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';

/** The maximum time to read a file, including redirects, in milliseconds. */
const TIMEOUT_MS = 30_000;

export const createFileHost = (client: GuardedClient): FileHost => ({
  download: async (url, consume) => {
    try {
      const { status, body, discard } = await client.request({ url, maxBytes: MAX_MEMORY_FILE_BYTES, totalMs: TIMEOUT_MS });
      if (status === 200) return { value: await consume(body), failed: null };
      discard();
      const message = `${new URL(url).hostname} answers the request for the file with ${status}`;
      return { value: null, failed: { failure: 'bad_response', message } };
    } catch (error) {
      return { value: null, failed: failedEgressOf(error) };
    }
  },
});
