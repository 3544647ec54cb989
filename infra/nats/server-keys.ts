import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, createOperator } from 'nkeys.js';
import { replaceFile } from '../durable-files.ts';
import { seedOf } from './jwt.ts';

/** Seeds of the embedded server's operator, of the system account, of Annals' own account and of that of the runners. */
export type ServerSeeds = {
  readonly operator: string;
  readonly system: string;
  readonly account: string;
  readonly runners: string;
  /** Unix seconds. Earlier versions put runners into Annals' own account, so its credentials up to then are refused. */
  readonly revokedUntil?: number;
};

/** An earlier version of Annals had no separate account for runners. */
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
  // Minus one second, so that Annals itself, which connects in this second, is accepted.
  revokedUntil: Math.floor(Date.now() / 1_000) - 1,
});

const readStored = (dir: string): StoredSeeds | null =>
  existsSync(fileIn(dir)) ? (JSON.parse(readFileSync(fileIn(dir), 'utf8')) as StoredSeeds) : null;

const hasRunners = (seeds: StoredSeeds | null): seeds is ServerSeeds => seeds?.runners !== undefined;

/** Null if there are no seeds yet, or only those of an earlier version of Annals. */
export const readSeeds = (dir: string): ServerSeeds | null => {
  const stored = readStored(dir);
  return hasRunners(stored) ? stored : null;
};

/** The first start creates the seeds. The first start after an upgrade adds the account of the runners. */
export const ensureSeeds = (dir: string): ServerSeeds => {
  const stored = readStored(dir);
  if (hasRunners(stored)) return stored;
  const seeds = stored ? withRunners(stored) : createSeeds();
  replaceFile(fileIn(dir), JSON.stringify(seeds));
  return seeds;
};
