import type { Area } from '../area.ts';
import { modelOperations } from './model.ts';
import { modelHistoryOperations } from './model-history.ts';

export const modelsArea = {
  title: 'Language models',
  description: 'The language models that agents can use. Super-admins register them.',
  operations: () => ({ ...modelOperations, ...modelHistoryOperations }),
  plainRoutes: [],
} satisfies Area;
