import { sha256Counter } from '../../domain/digest.ts';
import type { Blobs } from '../blobs.ts';
import type { Unpack } from './archive.ts';

/** A file in the archive of a skill. */
export type PackageFile = { readonly path: string; readonly size_bytes: number; readonly sha256: string };

/** Null if the archive cannot be read soon: a runner then gets everything else, and learns the reason when it fetches the archive. */
export type PackageFiles = (blobs: Blobs, package_digest: string) => Promise<readonly PackageFile[] | null>;

/** Returns the files of an archive, with their digests. @throws Refusal if the archive cannot be read */
export const filesInArchive = async (unpack: Unpack, archive: Uint8Array): Promise<readonly PackageFile[]> => {
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
