import type { Recorded } from '../event.ts';

/** A check of a file for threats. Each one has a stream of its own. */
export const category = 'scan';

/** Ordered: the verdict on a file is that of its worst finding. */
export const VERDICTS = ['clean', 'suspicious', 'refused'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What was found in a file or, if it is an archive, in its member `path`. */
export type Finding = {
  readonly code: string;
  readonly verdict: Exclude<Verdict, 'clean'>;
  readonly path: string | null;
  readonly message: string;
};

/** Returns the verdict that follows from findings. */
export const verdictOf = (findings: readonly Finding[]): Verdict =>
  VERDICTS[Math.max(0, ...findings.map(({ verdict }) => VERDICTS.indexOf(verdict)))]!;

/** The event names the codes of the findings only: the paths in an archive are contents of the file. */
export type ScannedFile = {
  readonly filename: string;
  readonly resource_type: string;
  readonly size_bytes: number;
  readonly sha256: string;
  readonly content_type: string;
  readonly verdict: Verdict;
  readonly findings: readonly string[];
};
export type FileScanEvent = { type: 'FileScanned'; data: ScannedFile };
export type FileScan = { readonly file: ScannedFile | null };

export const initial: FileScan = { file: null };

export const evolve = (_: FileScan, { data }: Recorded<FileScanEvent>): FileScan => ({ file: data });

/** Records the result of a check. */
export const record =
  (file: ScannedFile) =>
  ({ file: recorded }: FileScan): FileScanEvent[] =>
    recorded ? [] : [{ type: 'FileScanned', data: file }];
