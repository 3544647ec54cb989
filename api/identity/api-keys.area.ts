import type { Area } from '../services-of-areas.ts';
import { apiKeyOperations } from './api-key.ts';

export const apiKeysArea = {
  title: 'API keys',
  operations: () => apiKeyOperations,
  plainRoutes: [],
} satisfies Area;
