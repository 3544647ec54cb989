// The entry point of a lean process (see lean-process.ts). It is plain JavaScript, because for an entry point in
// TypeScript, Node would load its TypeScript compiler.

import { ignoreBrokenPipe, watchOutput } from '../logging/nonblocking-stdout.ts';
import { fail, finish, printError } from './exit.ts';
import { runLean } from './lean-process.ts';

watchOutput(printError);
ignoreBrokenPipe();
await runLean().then(finish, fail);
