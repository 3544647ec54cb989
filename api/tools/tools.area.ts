import type { Area } from '../area.ts';
import { agentToolOperations } from './agent-tools.ts';
import { toolOperations } from './tool.ts';
import { toolHistoryOperations } from './tool-history.ts';

export const toolsArea = {
  title: 'Tools',
  operations: () => ({ ...toolOperations, ...toolHistoryOperations, ...agentToolOperations }),
  plainRoutes: [],
} satisfies Area;
