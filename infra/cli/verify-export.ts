import { existsSync } from 'node:fs';
import { describeVerification, exitCodeOf, verifyAuditExport } from '../audit/verify-audit-export.mjs';
import { printLine } from '../logging/print-line.ts';
import { usageError } from './arguments.ts';

export type VerifyExportOptions = {
  readonly file: string;
  readonly key: string | undefined;
  readonly anchors: string | undefined;
  readonly json: boolean;
};

/**
 * Verifies an export of `annals export` without a platform, and prints each problem with its line.
 * @returns the exit code: 1 if there is a problem, 3 if there is nothing to verify @throws a usage error if there is no such file
 */
export const verifyExport = async ({ file, key, anchors, json }: VerifyExportOptions): Promise<number> => {
  const missing = [file, anchors].find((path) => path !== undefined && !existsSync(path));
  if (missing !== undefined) throw usageError(`There is no file ${missing}`);
  const found = await verifyAuditExport(file, { key, anchors });
  for (const line of json ? [JSON.stringify(found)] : describeVerification(found)) printLine(line);
  return exitCodeOf(found);
};
