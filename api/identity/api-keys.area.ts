import type { Area } from '../area.ts';
import { apiKeyOperations } from './api-key.ts';

export const apiKeysArea = {
  title: 'API keys',
  operations: () => apiKeyOperations,
  plainRoutes: [],
} satisfies Area;
