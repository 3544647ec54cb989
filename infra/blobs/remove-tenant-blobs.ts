import type { BlobBackend } from './blob-backend.ts';

/** Returns the number of removed files. @throws the errors of the backend */
export const removeTenantBlobs = async (backend: BlobBackend, tenant: string): Promise<number> => {
  let count = 0;
  for await (const entry of backend.list(tenant)) if (await backend.remove(entry)) count += 1;
  return count;
};
