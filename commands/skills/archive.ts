/** A file of an archive. Its size is that of its unpacked bytes. */
export type ArchiveFile = { readonly path: string; readonly size: number };

/** An archive that breaks no rule: its files, and the bytes of those that the caller wanted to keep, by path. */
export type UnpackedArchive = { readonly files: readonly ArchiveFile[]; readonly kept: ReadonlyMap<string, Uint8Array> };

/** Which files of an archive `Unpack` keeps, and how many bytes each of them may have. */
export type KeepFiles = {
  readonly isKept: (path: string) => boolean;
  readonly maxBytes: number;
  /** Called with the path and the first bytes of every file, at most HEAD_BYTES. */
  readonly inspect?: (path: string, head: Uint8Array) => void;
  /** Called with the path and the bytes of every file, piece by piece. The next piece waits for it. */
  readonly onPiece?: (path: string, bytes: Uint8Array) => Promise<void>;
};

export const HEAD_BYTES = 65_536;

/**
 * Unpacks a zip archive in memory, checks every entry of it, and drops all bytes but those of the kept files. Archives
 * within the archive are not unpacked.
 * @throws Refusal invalid if it is no zip archive, is damaged, or breaks a rule (domain/skills/archive-rules.ts)
 */
export type Unpack = (archive: Uint8Array, keep: KeepFiles) => Promise<UnpackedArchive>;
