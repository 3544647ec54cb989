import type { Recorded } from '../event.ts';

/** The check of a file for threats. Each check has its own stream. */
export const category = 'scan';

/** From best to worst; the worst finding decides. */
export const VERDICTS = ['clean', 'suspicious', 'refused'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** `path`: the member of an archive that contains the threat; otherwise null. */
export type Finding = {
  readonly code: string;
  readonly verdict: Exclude<Verdict, 'clean'>;
  readonly path: string | null;
  readonly message: string;
};

/** `clean` if there are no findings. */
export const verdictOf = (findings: readonly Finding[]): Verdict =>
  VERDICTS[Math.max(0, ...findings.map(({ verdict }) => VERDICTS.indexOf(verdict)))]!;

/** `findings` has codes without paths, because the paths in an archive are contents of the file. */
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

/** Does nothing if the result of this check is already recorded. */
export const record =
  (file: ScannedFile) =>
  ({ file: recorded }: FileScan): FileScanEvent[] =>
    recorded ? [] : [{ type: 'FileScanned', data: file }];
