import type { Recorded } from '../event.ts';

/** The result of one check of a file for threats. Each check has its own stream. */
export const category = 'scan';

/** The verdicts, from best to worst. A file gets the worst verdict among its findings. */
export const VERDICTS = ['clean', 'suspicious', 'refused'] as const;
export type Verdict = (typeof VERDICTS)[number];

/**
 * A threat that was found in a file. In an archive, `path` is the member that contains it; otherwise `path` is null.
 */
export type Finding = {
  readonly code: string;
  readonly verdict: Exclude<Verdict, 'clean'>;
  readonly path: string | null;
  readonly message: string;
};

/** Returns the worst verdict of the findings; `clean` if there are none. */
export const verdictOf = (findings: readonly Finding[]): Verdict =>
  VERDICTS[Math.max(0, ...findings.map(({ verdict }) => VERDICTS.indexOf(verdict)))]!;

/**
 * `findings` has only the codes of the findings. Their paths are left out, because the paths in an archive are contents
 * of the file.
 */
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

/** Records the result of a check. Does nothing if the check already has a result. */
export const record =
  (file: ScannedFile) =>
  ({ file: recorded }: FileScan): FileScanEvent[] =>
    recorded ? [] : [{ type: 'FileScanned', data: file }];
