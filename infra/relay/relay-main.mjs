// Starts the relay's process (see relay-process.ts). For TypeScript, Node would load its compiler, which takes memory.

import { enableCompileCache } from 'node:module';

enableCompileCache(process.argv[2]);
await import('./relay-child.ts');
