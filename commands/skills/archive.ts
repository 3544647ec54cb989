/** A file of an archive. `size` is the number of its unpacked bytes. */
export type ArchiveFile = { readonly path: string; readonly size: number };

/**
 * An archive that breaks no rule. `files` lists all of its files. `kept` maps the paths of those files that the caller
 * wanted to keep to their bytes.
 */
export type UnpackedArchive = { readonly files: readonly ArchiveFile[]; readonly kept: ReadonlyMap<string, Uint8Array> };

/** Says which files of an archive `Unpack` keeps, and how many bytes each of them may have. */
export type KeepFiles = {
  readonly isKept: (path: string) => boolean;
  readonly maxBytes: number;
  /** Called with the path of every file, and its first and its last bytes, at most HEAD_BYTES and TAIL_BYTES. */
  readonly inspect?: (path: string, head: Uint8Array, tail: Uint8Array) => Promise<void>;
  /**
   * Called with the path of every file and its bytes, piece by piece. Unpacking continues after the returned promise
   * has resolved.
   */
  readonly onPiece?: (path: string, bytes: Uint8Array) => Promise<void>;
};

export const HEAD_BYTES = 65_536;
export const TAIL_BYTES = 65_557;

/**
 * Unpacks a zip archive in memory, checks each of its entries, and keeps only the bytes of the selected files. Archives
 * inside the archive are not unpacked.
 * @throws Refusal invalid if it is not a zip archive, is damaged, or breaks a rule (domain/skills/archive-rules.ts)
 */
export type Unpack = (archive: Uint8Array, keep: KeepFiles) => Promise<UnpackedArchive>;
