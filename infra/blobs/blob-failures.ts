import { Refusal } from '../../domain/refusal.ts';
import { isDiskFull } from '../durable-files.ts';
import { BlobReplaced } from './blob-backend.ts';
import { ObjectStoreError } from './object-store-error.ts';

/** Error codes which mean that the operating system refuses access to a file or directory, or that the disk fails. */
const UNUSABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'EIO', 'ENOTDIR', 'EMFILE', 'ENFILE', 'ESTALE']);

const refusalOf = (error: unknown): Refusal | null => {
  if (isDiskFull(error)) return new Refusal('unavailable', 'The file store is full: try again later', { retryAfter: 30 });
  if (UNUSABLE.has(String((error as NodeJS.ErrnoException).code)))
    return new Refusal('unavailable', 'The file store cannot be used at the moment: try again', { retryAfter: 5 });
  if (error instanceof BlobReplaced) return new Refusal('unavailable', 'The file is being encrypted again: try again', { retryAfter: 2 });
  if (!(error instanceof ObjectStoreError)) return null;
  if (error.status === 0) return new Refusal('unavailable', 'The file store cannot be reached: try again', { retryAfter: 5 });
  const isBusy = error.status === 429 || error.status >= 500;
  if (isBusy) return new Refusal('unavailable', 'The file store is overloaded: try again', { retryAfter: 10 });
  return new Refusal('unavailable', 'The file store refuses the requests of this platform', { retryAfter: 30 });
};

/**
 * Throws the refusal for a failure of the file store, and reports its cause, which the refusal does not contain. Other errors are rethrown.
 */
export const storeFailures =
  (report: (cause: unknown) => void) =>
  (error: unknown): never => {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    report(error);
    throw refusal;
  };
