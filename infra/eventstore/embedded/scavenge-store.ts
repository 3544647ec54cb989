import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lockFile } from '../../process-lock.ts';
import { callRunningStore, SCAVENGE } from './admin-rpc.ts';
import { type Scavenged, scavenge } from './scavenger.ts';
import { openStore } from './store.ts';

/** What was freed, in words. */
export const describeScavenged = ({ events, bytes }: Scavenged): string => `freed ${bytes} bytes of ${events} events`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const stopped = (error: unknown): never => {
  throw error;
};

/** Frees what $maxAge, $maxCount and deletes released, in the running store where one serves the directory. @returns the exit code */
export const scavengeStore = async (dir: string): Promise<number> => {
  if (!existsSync(join(dir, 'log'))) {
    say(`there is no store in ${dir}`);
    return 2;
  }
  const lock = lockFile(join(dir, 'lock'));
  if (!lock) {
    say(await callRunningStore(dir, SCAVENGE));
    return 0;
  }
  const store = openStore(dir, stopped);
  say(describeScavenged(await scavenge(store)));
  await store.close();
  lock.release();
  return 0;
};
