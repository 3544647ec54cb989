import type { Area, Needs } from '../area.ts';
import { memoryImport } from './import-memory.ts';
import { memoryOperationsOf } from './memory.ts';

export const memoryArea = {
  title: 'Memory',
  description: 'Texts that an agent knows, and the files from which they were imported.',
  operations: ({ recordMemoryRead }: Needs<'recordMemoryRead'>) => memoryOperationsOf(recordMemoryRead),
  plainRoutes: [memoryImport],
} satisfies Area;
