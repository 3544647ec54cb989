import { isDiskFull } from '../durable-files.ts';

const REFUSED = new Set(['EACCES', 'EPERM']);
const WITHOUT_FILES = new Set(['EMFILE', 'ENFILE']);
const FAILING = new Set(['EIO', 'ESTALE', 'ENXIO']);

/** Null if it is another error. */
export const fileAdvice = (error: unknown, directory: string): string | null => {
  const code = String((error as NodeJS.ErrnoException).code ?? '');
  if (isDiskFull(error)) return `free disk space for ${directory}`;
  if (REFUSED.has(code)) return `make ${directory} readable and writable for the user of the platform`;
  if (code === 'EROFS') return `mount ${directory} writable: its file system is read-only`;
  if (WITHOUT_FILES.has(code)) return 'raise the limit of open files (LimitNOFILE under systemd)';
  if (FAILING.has(code)) return `check the disk of ${directory}: it reports errors`;
  if (['ENOENT', 'ENOTDIR', 'EEXIST'].includes(code)) return `create the directory ${directory}, or correct its setting`;
  const { cause } = error as Error;
  return cause ? fileAdvice(cause, directory) : null;
};
