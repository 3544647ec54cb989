import { accessSync, constants, existsSync } from 'node:fs';
import { counted } from '../../domain/counted.ts';
import { readSpoolCounts, type SpoolCounts } from '../spool/spool-file.ts';
import { lockSlot, slotPath, slotsWithFile, spoolDirectory } from '../spool/spool-slots.ts';
import { fail, none, ok, type Result, warn } from './finding.ts';

/** Counts for the spools of all processes. `abandoned` are the deliveries in files that no process has open. */
export type SpoolTotals = Pick<SpoolCounts, 'rows' | 'parked' | 'oldestAt'> & { readonly abandoned: number };

const isAbandoned = (dir: string, number: number): boolean => {
  const slot = lockSlot(dir, number);
  slot?.release();
  return slot !== undefined;
};

/** @throws Error if a file cannot be read */
export const readSpoolTotals = (annalsData: string): SpoolTotals => {
  const dir = spoolDirectory(annalsData);
  const files = slotsWithFile(dir).map((number) => ({ ...readSpoolCounts(slotPath(dir, number)), number }));
  const filled = files.filter(({ rows }) => rows > 0);
  return {
    rows: filled.reduce((sum, { rows }) => sum + rows, 0),
    parked: files.reduce((sum, { parked }) => sum + parked, 0),
    oldestAt: filled.reduce<number | null>((oldest, { oldestAt }) => Math.min(oldest ?? oldestAt!, oldestAt!), null),
    abandoned: filled.filter(({ number }) => isAbandoned(dir, number)).reduce((sum, { rows }) => sum + rows, 0),
  };
};

/** The spool stores deliveries while the event store cannot record them. */
export const checkSpool = async (annalsData: string, startAdvice: string): Promise<Result> => {
  const dir = spoolDirectory(annalsData);
  if (!existsSync(dir)) return none('not checked: annals serve has not run with this ANNALS_DATA yet');
  accessSync(dir, constants.W_OK);
  const { rows, parked, oldestAt, abandoned } = readSpoolTotals(annalsData);
  if (parked > 0)
    return fail(
      `the event store has refused ${counted(parked, 'delivery')}, which the spool keeps`,
      'read why in the log of annals serve, which tries again when it starts',
    );
  if (rows === 0) return ok('empty');
  const waiting = `${counted(rows, 'delivery')} in the spool, the oldest for ${Math.max(0, Math.round((Date.now() - oldestAt!) / 1_000))} s`;
  if (abandoned > 0) return warn(`${waiting}; ${abandoned} of them in a file that no process uses`, startAdvice);
  return warn(waiting, 'see the finding about the event store: they are recorded when it works again');
};
