import { sha256Counter } from '../../domain/digest.ts';
import type { Blobs } from '../blobs.ts';
import type { Unpack } from './archive.ts';

/** A file in the archive of a skill. */
export type PackageFile = { readonly path: string; readonly size_bytes: number; readonly sha256: string };

/**
 * Returns the files in the stored archive with this digest; null if the archive cannot be read, so that a runner gets
 * everything else. It learns the reason when it fetches the archive.
 */
export type PackageFiles = (blobs: Blobs, package_digest: string) => Promise<readonly PackageFile[] | null>;

/** The known files of archives, by digest. The files of an archive never change. */
type KnownFiles = {
  readonly get: (package_digest: string) => readonly PackageFile[] | undefined;
  readonly set: (package_digest: string, files: readonly PackageFile[]) => void;
};

const filesIn = async (unpack: Unpack, archive: Uint8Array): Promise<readonly PackageFile[]> => {
  const counters = new Map<string, ReturnType<typeof sha256Counter>>();
  const counterOf = (path: string) => counters.get(path) ?? sha256Counter();
  const onPiece = async (path: string, bytes: Uint8Array): Promise<void> => {
    const counter = counterOf(path);
    counter.add(bytes);
    counters.set(path, counter);
  };
  const { files } = await unpack(archive, { isKept: () => false, maxBytes: 0, onPiece });
  return files.map(({ path, size }) => ({ path, size_bytes: size, sha256: counterOf(path).result() }));
};

/** Creates the function that lists the files of archives, and remembers them in `known`. */
export const createPackageFiles = (unpack: Unpack, known: KnownFiles): PackageFiles => {
  const read = async (blobs: Blobs, package_digest: string): Promise<readonly PackageFile[] | null> => {
    const blob = await blobs.get(package_digest);
    if (!blob) return null;
    const files = await filesIn(unpack, Buffer.concat(await Array.fromAsync(blob.content)));
    known.set(package_digest, files);
    return files;
  };
  return async (blobs, package_digest) => known.get(package_digest) ?? read(blobs, package_digest).catch(() => null);
};
