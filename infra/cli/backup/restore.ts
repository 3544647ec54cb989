import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { blobDirectoryOf } from '../../blobs/blob-location.ts';
import { copyBlobs } from '../../blobs/copy-blobs.ts';
import { type BlobPlace, openBlobPlace, openBlobStore, openDirectoryPlace } from '../../blobs/open-blob-store.ts';
import { verifyBlobs } from '../../blobs/verify-blobs.ts';
import type { Config } from '../../config.ts';
import { syncDirectory } from '../../durable-files.ts';
import { openLog } from '../../eventstore/client.ts';
import { copyStore } from '../../eventstore/embedded/backup-store.ts';
import { serveStore } from '../../eventstore/embedded/rpc/serve-store.ts';
import { assertStoreDirectory, wrongDirectory } from '../../eventstore/embedded/store-directory.ts';
import { verifyStore } from '../../eventstore/embedded/verify-store.ts';
import { printLine } from '../../logging/print-line.ts';
import { lockDataDirectory } from '../../processes/data-directory.ts';
import { openVault } from '../../vault/vault.ts';
import { bytesText, filesText } from '../blobs/blob-access.ts';
import { printVerification } from '../blobs/check-blobs.ts';
import { filesIn, storeIn } from './backup.ts';
import { assertStoreIsEmbedded } from './embedded-store.ts';

/** `verbose`: whether to print every missing or damaged part, not only the first ones. */
type Restore = Config & { readonly verbose: boolean };

const ignore = (): void => {};

/** Serves the store for a short time to read its events. Returns the exit code. */
const verifyFiles = async (dir: string, place: BlobPlace, { masterKeyFile, verbose }: Restore): Promise<number> => {
  const server = await serveStore({ dir, port: 0, open: true, print: ignore });
  const log = openLog(`esdb://127.0.0.1:${server.port}?tls=false`);
  try {
    const vault = await openVault({ log, masterKeyFile });
    return printVerification(await verifyBlobs(openBlobStore(place, vault), log), { json: false, verbose });
  } finally {
    await log.close();
    await server.close();
  }
};

/** The place in BLOBS_URL or, by default, the data directory. */
const placeFor = async (config: Config): Promise<BlobPlace> =>
  (await openBlobPlace(config)) ?? openDirectoryPlace(blobDirectoryOf(config.annalsData));

/** The store gets its final name only at the end, so an interrupted restore can be repeated. */
const restoreInto = async (config: Restore, from: string): Promise<number> => {
  const { annalsData, verbose } = config;
  const [store, staged] = [join(annalsData, 'store'), join(annalsData, 'store.restoring')];
  if (existsSync(store)) throw wrongDirectory(`${annalsData} contains a platform already: set ANNALS_DATA to a new directory`);
  rmSync(staged, { recursive: true, force: true });
  await copyStore(storeIn(from), staged);
  const place = await placeFor(config);
  const { count, bytes } = await copyBlobs(openDirectoryPlace(filesIn(from)).backend, place);
  printLine(`copied ${filesText(count)}, ${bytesText(bytes)}`);
  const events = await verifyStore(staged, { verbose });
  const files = events === 0 ? await verifyFiles(staged, place, config) : 0;
  renameSync(staged, store);
  syncDirectory(annalsData);
  printLine(events + files === 0 ? 'restored: start the platform' : 'restored, but not everything is intact: see above');
  return events + files === 0 ? 0 : 1;
};

/**
 * Copies a backup into the data directory, and verifies every event and file. Returns the exit code: 1 if something is missing or damaged.
 * @throws Error with a one-line message for the operator if a directory is not suitable
 */
export const restore = async (config: Restore, from: string): Promise<number> => {
  const { annalsData, masterKeyFile } = config;
  assertStoreIsEmbedded(config, 'restore');
  assertStoreDirectory(storeIn(from));
  if (!existsSync(masterKeyFile)) throw new Error(`the master key ${masterKeyFile} is missing: put its copy there first, with mode 0600`);
  const lock = lockDataDirectory(annalsData);
  try {
    return await restoreInto(config, from);
  } finally {
    lock.release();
  }
};
