/** A problem of an export: the first and the last line that it concerns, from 1. */
export type ExportProblem = { readonly line: number; readonly last_line: number; readonly text: string };

export type ExportVerification = {
  /** Whether the file was verified. False if it has problems, or nothing to verify. */
  readonly ok: boolean;
  /** Whether the file has no problems, but no entries either. */
  readonly is_empty: boolean;
  readonly tenant_id: string | null;
  readonly entries: number;
  readonly heads: number;
  readonly key_id: string | null;
  readonly is_key_known: boolean;
  readonly is_selection: boolean;
  /** Whether other entries of the tree lie between those of the file. */
  readonly has_gaps: boolean;
  /** The number of entries whose contents no head covers. */
  readonly uncovered_contents: number;
  /** The number of entries whose contents only heads of version 2 cover, although there are heads of version 1. */
  readonly later_covered_contents: number;
  readonly problem_count: number;
  readonly problems: readonly ExportProblem[];
};

export type ExportLineKind = 'manifest' | 'key' | 'event' | 'head' | 'proof' | 'end';

export const FORMAT: string;
export const digestOf: (text: string) => string;
export const exportLine: (number: number, kind: ExportLineKind, text: string) => string;
/** Adds a leaf to the peaks of a tree of `size` leaves, in place. */
export const addLeaf: (peaks: string[], size: number, leaf: string) => void;
/** Returns the leaf of an entry in the tree of version 1. `text` is the entry, `digest` its leaf in version 2. */
export const earlierLeaf: (text: string, digest: string) => string;
/** Verifies an export offline. @throws Error if a file cannot be read */
export const verifyAuditExport: (
  file: string,
  options?: { readonly key?: string | undefined; readonly anchors?: string | undefined },
) => Promise<ExportVerification>;
/** Returns the exit code: 0 verified, 1 problems, 3 nothing to verify. */
export const exitCodeOf: (found: Pick<ExportVerification, 'ok' | 'is_empty'>) => number;
export const describeVerification: (found: ExportVerification) => string[];
