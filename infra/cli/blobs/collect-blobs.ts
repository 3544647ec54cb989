import { removeOldDrafts } from '../../blobs/blob-drafts.ts';
import { countOf, findOrphans, removeOrphans } from '../../blobs/orphans.ts';
import type { Config } from '../../config.ts';
import { printLine } from '../../logging/print-line.ts';
import { usageError } from '../arguments.ts';
import { bytesText, filesText, placeOf, withPlatformLog } from './blob-access.ts';

const HOUR_MS = 3_600_000;
const MAX_GRACE_HOURS = 8_760;

/** @throws a usage error if the text is not a number of hours from 1 to 8760 */
export const graceOf = (text: string): number => {
  if (!/^[1-9]\d{0,3}$/.test(text) || Number(text) > MAX_GRACE_HOURS)
    throw usageError(`--grace must be a number of hours from 1 to ${MAX_GRACE_HOURS}`);
  return Number(text);
};

export type CollectOptions = { readonly graceHours: number; readonly isDryRun: boolean; readonly json: boolean };

/** Removes files to which no event refers, and the remains of interrupted uploads; a dry run only counts. Returns the exit code. */
export const collectBlobs = async (config: Config, { graceHours, isDryRun, json }: CollectOptions): Promise<number> => {
  const { backend, drafts } = await placeOf(config);
  const before = Date.now() - graceHours * HOUR_MS;
  const { total, foreign, orphans } = await withPlatformLog(config, (log) => findOrphans(backend, log, before));
  const found = countOf(orphans);
  const unfinished = (await removeOldDrafts(drafts, before, isDryRun)) + (await backend.removeDrafts(before, isDryRun));
  const removed = isDryRun ? countOf([]) : await removeOrphans(backend, orphans);
  if (json) printLine(JSON.stringify({ total, orphans: found, unfinished, foreign, removed, dry_run: isDryRun }));
  if (json) return 0;
  printLine(`stored: ${filesText(total.count)}, ${bytesText(total.bytes)}`);
  printLine(`named by no event and older than ${graceHours} h: ${filesText(found.count)}, ${bytesText(found.bytes)}`);
  printLine(`uploads that were never finished: ${unfinished}`);
  if (foreign.count > 0) printLine(`of tenants that this log does not know, and therefore kept: ${filesText(foreign.count)}`);
  printLine(
    isDryRun ? 'nothing was removed: run again with --delete' : `removed: ${filesText(removed.count)}, ${bytesText(removed.bytes)}`,
  );
  return 0;
};
