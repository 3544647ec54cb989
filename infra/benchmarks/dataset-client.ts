import type { DatasetHost } from '../../commands/benchmarks/dataset-location.ts';
import { MAX_DATASET_BYTES } from '../../domain/benchmarks/dataset.ts';
import { failedEgressOf } from '../egress/egress-error.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';

/** The maximum time to read a dataset, including redirects, in milliseconds. */
const TIMEOUT_MS = 15_000;

export const createDatasetClient = (client: GuardedClient): DatasetHost => ({
  fetch: async (url) => {
    try {
      const { status, bytes } = await client.read({ url, maxBytes: MAX_DATASET_BYTES, totalMs: TIMEOUT_MS });
      if (status === 200) return { bytes, failed: null };
      return {
        bytes: null,
        failed: { failure: 'bad_response', message: `${new URL(url).hostname} answers the request for the dataset with ${status}` },
      };
    } catch (error) {
      return { bytes: null, failed: failedEgressOf(error) };
    }
  },
});
