import { existsSync } from 'node:fs';
import { basename, extname, join } from 'node:path';

/** The files with which processes and threads of the program start. Their base names differ. */
export const ENTRY_POINTS = [
  'infra/main.ts',
  'infra/processes/lean-main.mjs',
  'infra/relay/relay-main.mjs',
  'infra/postgres/create-database.ts',
  'infra/nats/write-server-config.ts',
  'infra/mail/mail-worker.ts',
  'infra/mail/sender-worker.ts',
  'infra/spool/spool-worker.ts',
  'infra/files/scan-worker.ts',
  'infra/guardrails/rules-worker.ts',
  'infra/deliveries/verification-worker.ts',
] as const;
export type EntryPoint = (typeof ENTRY_POINTS)[number];

/** The directory of the bundle (see bundle-program.ts) in a copy of the program. */
export const BUNDLE = 'bundle';

/** The checkout or the copy of it that runs. Like this file, all files of a bundle are one level below. */
export const PROGRAM_ROOT = join(import.meta.dirname, '..');

/** The name of an entry point in the bundle, without its extension. */
export const bundledName = (entry: EntryPoint): string => basename(entry).replace(/\.\w+$/, '');

/** The npm package has JavaScript in place of TypeScript. */
export const sourceFile = (file: string, root = PROGRAM_ROOT): string => join(root, file.replace(/\.ts$/, extname(import.meta.filename)));

/** The bundled file if there is a bundle, otherwise the source. */
export const entryPoint = (entry: EntryPoint, root = PROGRAM_ROOT): string => {
  const bundled = join(root, BUNDLE, `${bundledName(entry)}.js`);
  return existsSync(bundled) ? bundled : sourceFile(entry, root);
};

/** The path of the entry point `infra/main.ts` of the program that runs: in the bundle, or in the sources. */
export const RUNNING_MAIN =
  basename(import.meta.dirname) === BUNDLE ? join(import.meta.dirname, `${bundledName('infra/main.ts')}.js`) : sourceFile('infra/main.ts');
