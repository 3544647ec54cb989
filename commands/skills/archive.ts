/** `size`: unpacked bytes. */
export type ArchiveFile = { readonly path: string; readonly size: number };

/** An archive that breaks no rule. `kept`: bytes of the files that the caller wanted to keep, by path. */
export type UnpackedArchive = { readonly files: readonly ArchiveFile[]; readonly kept: ReadonlyMap<string, Uint8Array> };

/** Which files are kept, how many bytes each may have, and what else to do with files. */
export type KeepFiles = {
  readonly isKept: (path: string) => boolean;
  readonly maxBytes: number;
  /** Called with the first and last bytes of every file, at most HEAD_BYTES and TAIL_BYTES. */
  readonly inspect?: (path: string, head: Uint8Array, tail: Uint8Array) => Promise<void>;
  /** Called with every file, piece by piece. Unpacking continues after the promise has resolved. */
  readonly onPiece?: (path: string, bytes: Uint8Array) => Promise<void>;
};

export const HEAD_BYTES = 65_536;
export const TAIL_BYTES = 65_557;

/**
 * Unpacks in memory, checks each entry, and keeps only selected files. Archives inside are not unpacked.
 * @throws Refusal invalid if it is not a zip archive, is damaged, or breaks a rule (domain/skills/archive-rules.ts)
 */
export type Unpack = (archive: Uint8Array, keep: KeepFiles) => Promise<UnpackedArchive>;
