import { counted } from '../../../domain/counted.ts';
import { PLATFORM } from '../../../domain/event.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type BlobPlace, openBlobPlace } from '../../blobs/open-blob-store.ts';
import type { Config } from '../../config.ts';
import { openLog } from '../../eventstore/client.ts';
import type { Log } from '../../eventstore/event-log.ts';
import { readWrappedKeys } from '../../vault/wrapped-keys.ts';
import { locateServices } from '../locate-services.ts';

/** @throws Error with a one-line message for the operator if the platform stores no files */
export const placeOf = async (config: Config): Promise<BlobPlace> => {
  const place = await openBlobPlace(config);
  if (!place) throw new Error('this platform has no file store: set BLOBS_URL as for annals serve');
  return place;
};

/**
 * @throws Error with a one-line message for the operator if the log contains no platform: it may have lost its events, and every file would
 * count as an orphan
 */
export const withPlatformLog = async <T>(config: Config, work: (log: Log) => Promise<T>): Promise<T> => {
  const log = openLog(locateServices(config).eventstoreUrl);
  try {
    if ((await readWrappedKeys(log, PLATFORM, 'name')).length === 0)
      throw new Error('this platform was never started: run annals start or annals serve first');
    return await work(log);
  } catch (error) {
    throw error instanceof Refusal ? new Error(error.message) : error;
  } finally {
    await log.close();
  }
};

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

export const bytesText = (bytes: number): string => {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${power === 0 ? bytes : (bytes / 1_024 ** power).toFixed(1)} ${UNITS[power]}`;
};

export const filesText = (count: number): string => counted(count, 'file');
