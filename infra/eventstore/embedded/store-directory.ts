import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Ends the command with exit code 2, because the operator has to name another directory. */
export const wrongDirectory = (message: string): Error => Object.assign(new Error(message), { exitCode: 2 });

/** @throws Error with a one-line message for the operator, with exit code 2 */
export const assertStoreDirectory = (dir: string): void => {
  if (!existsSync(join(dir, 'log'))) throw wrongDirectory(`${dir} contains no event store`);
};
