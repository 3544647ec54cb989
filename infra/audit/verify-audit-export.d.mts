/** A problem of an export: the first and the last line that it concerns, from 1. */
export type ExportProblem = { readonly line: number; readonly last_line: number; readonly text: string };

export type ExportVerification = {
  readonly ok: boolean;
  readonly tenant_id: string | null;
  readonly entries: number;
  readonly heads: number;
  readonly key_id: string | null;
  readonly is_key_known: boolean;
  readonly problem_count: number;
  readonly problems: readonly ExportProblem[];
};

export type ExportLineKind = 'manifest' | 'key' | 'event' | 'head' | 'end';

export const FORMAT: string;
export const digestOf: (text: string) => string;
export const exportLine: (number: number, kind: ExportLineKind, text: string) => string;
/** Adds a leaf to the peaks of a tree of `size` leaves, in place. */
export const addLeaf: (peaks: string[], size: number, leaf: string) => void;
/** Verifies an export offline. @throws Error if a file cannot be read */
export const verifyAuditExport: (
  file: string,
  options?: { readonly key?: string | undefined; readonly anchors?: string | undefined },
) => Promise<ExportVerification>;
export const describeVerification: (found: ExportVerification) => string[];
