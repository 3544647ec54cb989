import { join } from 'node:path';
import { counted } from '../../../domain/counted.ts';
import { copyBlobs } from '../../blobs/copy-blobs.ts';
import { openBlobPlace, openDirectoryPlace } from '../../blobs/open-blob-store.ts';
import type { Config } from '../../config.ts';
import { backupStore } from '../../eventstore/embedded/backup-store.ts';
import { readSpoolTotals } from '../../health/spool-check.ts';
import { printLine } from '../../logging/print-line.ts';
import { spoolDirectory } from '../../spool/spool-slots.ts';
import { bytesText, filesText } from '../blobs/blob-access.ts';
import { assertStoreIsEmbedded } from './embedded-store.ts';

export const storeIn = (dir: string): string => join(dir, 'store');
export const filesIn = (dir: string): string => join(dir, 'blobs');

/**
 * Copies the event store first: files are stored before their events, so all files to which copied events refer are copied. They stay
 * encrypted, and the master key is not copied. Returns the exit code.
 */
export const backup = async (config: Config, to: string): Promise<number> => {
  assertStoreIsEmbedded(config, 'back up');
  await backupStore(join(config.annalsData, 'store'), storeIn(to));
  const place = await openBlobPlace(config);
  if (place) {
    const { count, bytes } = await copyBlobs(place.backend, openDirectoryPlace(filesIn(to)));
    printLine(`copied ${filesText(count)}, ${bytesText(bytes)}`);
  }
  const { rows, parked } = readSpoolTotals(config.annalsData);
  if (rows + parked > 0)
    printLine(
      `not copied: ${counted(rows + parked, 'delivery')} in ${spoolDirectory(config.annalsData)}, not yet in the event store. ` +
        'Repeat the backup when annals doctor finds the spool empty',
    );
  printLine(
    `not copied: the master key (${config.masterKeyFile}). Keep a copy of it in another place: without it, the backup cannot be read`,
  );
  return 0;
};
