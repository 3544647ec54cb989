import { join } from 'node:path';

/** Holds the compiled code of the files that our processes have loaded. It halves the time that a process takes to start. */
export const COMPILE_CACHE = join(import.meta.dirname, '../../node_modules/.cache/annals/compiled');
