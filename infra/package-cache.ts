import { basename, dirname, join } from 'node:path';
import { PROGRAM_ROOT } from './program.ts';

const parent = dirname(PROGRAM_ROOT);
const isPackage = basename(parent) === 'node_modules';

/** What a person types to start the platform. */
export const START_COMMAND = isPackage ? 'npx annals start' : 'npm start';

/**
 * The directory for what is downloaded or compiled once for an installation: in the node_modules of a checkout, or in
 * those in which the npm package lies, so that npm does not delete it together with the package.
 */
export const PACKAGE_CACHE = join(isPackage ? parent : join(PROGRAM_ROOT, 'node_modules'), '.cache/annals');
