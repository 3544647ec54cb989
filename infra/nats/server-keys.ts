import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, createOperator } from 'nkeys.js';
import { replaceFile } from '../durable-files.ts';
import { seedOf } from './jwt.ts';

/**
 * The private seeds of the embedded server's operator and of its accounts: the system account, the account that Annals
 * uses, and the account to which runners belong.
 */
export type ServerSeeds = {
  readonly operator: string;
  readonly system: string;
  readonly account: string;
  readonly runners: string;
  /**
   * A Unix time in seconds. Credentials of users of Annals' own account that were issued up to this time are refused,
   * because earlier versions of Annals put runners into that account.
   */
  readonly revokedUntil?: number;
};

/** The seeds in a directory of an earlier version of Annals, which had no separate account for runners. */
type StoredSeeds = Omit<ServerSeeds, 'runners'> & { readonly runners?: string };

const fileIn = (dir: string): string => join(dir, 'keys.json');

const createSeeds = (): ServerSeeds => ({
  operator: seedOf(createOperator()),
  system: seedOf(createAccount()),
  account: seedOf(createAccount()),
  runners: seedOf(createAccount()),
});

const withRunners = (stored: StoredSeeds): ServerSeeds => ({
  ...stored,
  runners: seedOf(createAccount()),
  // One second is subtracted, so that users that are created in this second are accepted: Annals itself connects now.
  revokedUntil: Math.floor(Date.now() / 1_000) - 1,
});

const readStored = (dir: string): StoredSeeds | null =>
  existsSync(fileIn(dir)) ? (JSON.parse(readFileSync(fileIn(dir), 'utf8')) as StoredSeeds) : null;

const hasRunners = (seeds: StoredSeeds | null): seeds is ServerSeeds => seeds?.runners !== undefined;

/**
 * Reads the seeds from the server's directory.
 * @returns null if there are no seeds yet, or only those of an earlier version of Annals
 */
export const readSeeds = (dir: string): ServerSeeds | null => {
  const stored = readStored(dir);
  return hasRunners(stored) ? stored : null;
};

/**
 * Returns the seeds in the server's directory. The first start creates them. The first start after an upgrade adds the
 * account of the runners.
 */
export const ensureSeeds = (dir: string): ServerSeeds => {
  const stored = readStored(dir);
  if (hasRunners(stored)) return stored;
  const seeds = stored ? withRunners(stored) : createSeeds();
  replaceFile(fileIn(dir), JSON.stringify(seeds));
  return seeds;
};
