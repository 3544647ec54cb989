import type { Area, Needs } from '../area.ts';
import { memoryImport } from './import-memory.ts';
import { memoryOperationsOf } from './memory.ts';

export const memoryArea = {
  title: 'Memory',
  operations: ({ recordMemoryRead }: Needs<'recordMemoryRead'>) => memoryOperationsOf(recordMemoryRead),
  plainRoutes: [memoryImport],
} satisfies Area;
