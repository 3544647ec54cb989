import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, createOperator } from 'nkeys.js';
import { replaceFile } from '../durable-files.ts';
import { seedOf } from './jwt.ts';

/** The private seeds of the embedded server's operator, of its system account, and of the account that Annals uses. */
export type ServerSeeds = { readonly operator: string; readonly system: string; readonly account: string };

const fileIn = (dir: string): string => join(dir, 'keys.json');

const createSeeds = (): ServerSeeds => ({
  operator: seedOf(createOperator()),
  system: seedOf(createAccount()),
  account: seedOf(createAccount()),
});

/** Reads the seeds from the server's directory. @returns null if there are none yet */
export const readSeeds = (dir: string): ServerSeeds | null =>
  existsSync(fileIn(dir)) ? (JSON.parse(readFileSync(fileIn(dir), 'utf8')) as ServerSeeds) : null;

/** Returns the seeds in the server's directory. The first start creates them. */
export const ensureSeeds = (dir: string): ServerSeeds => {
  if (!existsSync(fileIn(dir))) replaceFile(fileIn(dir), JSON.stringify(createSeeds()));
  return readSeeds(dir)!;
};
