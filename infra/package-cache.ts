import { basename, dirname, join } from 'node:path';
import { PROGRAM_ROOT } from './program.ts';

const parent = dirname(PROGRAM_ROOT);
const isPackage = basename(parent) === 'node_modules';

export const START_COMMAND = isPackage ? 'npx annals start' : 'npm start';

/** In the node_modules of a checkout, or around the npm package, so that npm does not delete it together with the package. */
export const PACKAGE_CACHE = join(isPackage ? parent : join(PROGRAM_ROOT, 'node_modules'), '.cache/annals');
