import type { Area } from '../area.ts';
import { apiKeyOperations } from './api-key.ts';

export const apiKeysArea = {
  title: 'API keys',
  description: 'Keys of a tenant, of the platform, and of the runners of an agent. A key is shown only when it is created.',
  operations: () => apiKeyOperations,
  plainRoutes: [],
} satisfies Area;
