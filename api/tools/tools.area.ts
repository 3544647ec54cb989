import type { Area } from '../area.ts';
import { agentToolOperations } from './agent-tools.ts';
import { toolOperations } from './tool.ts';
import { toolHistoryOperations } from './tool-history.ts';

export const toolsArea = {
  title: 'Tools',
  description: 'What agents can call: the tools of the tenant and of its connectors, and which agents have them.',
  operations: () => ({ ...toolOperations, ...toolHistoryOperations, ...agentToolOperations }),
  plainRoutes: [],
} satisfies Area;
