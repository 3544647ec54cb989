// The first file of a lean process. It is plain JavaScript, because for a first file in TypeScript Node would load its compiler.

import { ignoreBrokenPipe, watchOutput } from '../logging/nonblocking-stdout.ts';
import { fail, finish, printError } from './exit.ts';
import { runLean } from './lean-process.ts';

watchOutput(printError);
ignoreBrokenPipe();
await runLean().then(finish, fail);
