import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Platform } from '../../faults/platform.ts';
import { mainFile, startProgram, unconfiguredEnvironment } from '../../fixtures/child-process.ts';

/** What remains of a platform that has stopped. */
export type Remains = {
  readonly platform: Platform;
  /** The directories of the platform, without backups. */
  readonly own: readonly string[];
  /** The backup of the whole platform, made at the end. */
  readonly backup: string;
  /** What the platform and `annals replay` have printed. */
  readonly printed: string;
};

/**
 * A use of a platform that leaves texts nobody may find. `act` uses the running platform. It returns the check of what
 * remains after the platform has stopped.
 */
export type SecretCase = { readonly name: string; readonly act: (platform: Platform) => Promise<(remains: Remains) => void> };

/** Runs a CLI command with the platform's data directory, and asserts that it succeeds. @returns its output */
export const annals = async ({ data }: Platform, ...words: string[]): Promise<string> => {
  const program = startProgram(process.execPath, [mainFile, ...words], { env: { ...unconfiguredEnvironment(), ANNALS_DATA: data } });
  assert.is(await program.ended, 0, program.output());
  return program.output();
};

/**
 * Returns the directories of the platform. This is the data directory and, if the user who runs PostgreSQL has no
 * access to it, the separate directory of the database.
 */
export const directoriesOf = ({ data }: Platform): string[] => {
  const file = join(data, 'postgres', 'place');
  return existsSync(file) ? [data, readFileSync(file, 'utf8').trim()] : [data];
};
