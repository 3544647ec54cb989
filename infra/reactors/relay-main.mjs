// The entry point of the relay's process (see relay-process.ts). It is plain JavaScript. For an entry point in
// TypeScript, Node would load its TypeScript compiler, which takes memory.

import { enableCompileCache } from 'node:module';

enableCompileCache(process.argv[2]);
await import('./relay-child.ts');
