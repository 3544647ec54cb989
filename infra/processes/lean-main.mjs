// The entry point of a process that loads only what it needs (see lean-process.ts). It is plain JavaScript, because
// Node would load its TypeScript compiler for an entry point in TypeScript.

import { ignoreBrokenPipe, watchOutput } from '../logging/nonblocking-stdout.ts';
import { fail, finish, printError } from './exit.ts';
import { runLean } from './lean-process.ts';

watchOutput(printError);
ignoreBrokenPipe();
await runLean().then(finish, fail);
