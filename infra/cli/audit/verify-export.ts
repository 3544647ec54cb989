import { existsSync } from 'node:fs';
import { describeVerification, type ExportVerification, exitCodeOf, verifyAuditExport } from '../../audit/verify-audit-export.mjs';
import { printLine } from '../../logging/print-line.ts';
import { usageError } from '../arguments.ts';

export type VerifyExportOptions = {
  readonly file: string;
  readonly key: string | undefined;
  readonly anchors: string | undefined;
  readonly json: boolean;
  readonly verbose: boolean;
};

const MAX_PROBLEMS = 10;

/** Returns the lines about the verification of a file: its first ten problems or, with `isVerbose`, all that were kept. */
export const verificationLines = (found: ExportVerification, file: string, isVerbose = false): string[] => {
  const lines = describeVerification(isVerbose ? found : { ...found, problems: found.problems.slice(0, MAX_PROBLEMS) });
  if (isVerbose || found.problems.length <= MAX_PROBLEMS) return lines;
  return lines.toSpliced(-1, 0, `annals verify --audit ${file} --verbose prints more of them`);
};

/**
 * Verifies an export of `annals export` without a platform, and prints each problem with its line.
 * @returns the exit code: 1 if there is a problem, 3 if there is nothing to verify @throws a usage error if there is no such file
 */
export const verifyExport = async ({ file, key, anchors, json, verbose }: VerifyExportOptions): Promise<number> => {
  const missing = [file, anchors].find((path) => path !== undefined && !existsSync(path));
  if (missing !== undefined) throw usageError(`There is no file ${missing}`);
  const found = await verifyAuditExport(file, { key, anchors });
  for (const line of json ? [JSON.stringify(found)] : verificationLines(found, file, verbose)) printLine(line);
  return exitCodeOf(found);
};
