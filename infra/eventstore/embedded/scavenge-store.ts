import { join } from 'node:path';
import { counted } from '../../../domain/counted.ts';
import { printLine } from '../../logging/print-line.ts';
import { lockFile } from '../../process-lock.ts';
import { callRunningStore, SCAVENGE } from './admin-rpc.ts';
import { type Scavenged, scavenge } from './scavenger.ts';
import { openStore } from './store.ts';
import { assertStoreDirectory } from './store-directory.ts';

/** If little is removed, the files can grow, because the store records what it has removed. */
export const describeScavenged = ({ events, bytes }: Scavenged): string =>
  `${bytes > 0 ? `freed ${counted(bytes, 'byte')}` : 'freed no space'}: ${counted(events, 'event')} removed`;

const rethrow = (error: unknown): never => {
  throw error;
};

/** Removes events that readers can no longer see. If the store is running, its process does the work. Returns the exit code. */
export const scavengeStore = async (dir: string): Promise<number> => {
  assertStoreDirectory(dir);
  const lock = lockFile(join(dir, 'lock'));
  if (!lock) {
    printLine(await callRunningStore(dir, SCAVENGE));
    return 0;
  }
  const store = openStore(dir, rethrow);
  printLine(describeScavenged(await scavenge(store)));
  await store.close();
  lock.release();
  return 0;
};
