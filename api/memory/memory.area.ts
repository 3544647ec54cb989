import type { Area } from '../services-of-areas.ts';
import { memoryImport } from './import-memory.ts';
import { memoryOperations } from './memory.ts';

export const memoryArea = {
  title: 'Memory',
  operations: () => memoryOperations,
  plainRoutes: [memoryImport],
} satisfies Area;
