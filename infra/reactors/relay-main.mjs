// The entry point of the relay's thread (see relay-thread.ts). It is plain JavaScript: for an entry point in
// TypeScript, Node would load its TypeScript compiler into the thread, which takes memory.

import { enableCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';

enableCompileCache(workerData.compileCache);
await import('./relay-worker.ts');
