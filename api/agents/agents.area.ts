import type { Area, Needs } from '../area.ts';
import { agentOperations } from './agent.ts';
import { agentActivityOperations } from './agent-activity.ts';
import { agentHistoryOperations } from './agent-history.ts';
import { agentModelOperations } from './agent-models.ts';
import { agentSettingsOperations } from './agent-settings.ts';
import { assistantOperations } from './assistant.ts';
import { budgetStateOperations } from './budget-state.ts';
import { cloneAgentOperations } from './clone-agent.ts';
import { codeRefOperationsOf } from './code-ref.ts';
import { favoriteAgentOperations } from './favorite-agent.ts';
import { grantedAgentOperations } from './granted-agents.ts';

export const agentsArea = {
  title: 'Agents',
  description: 'Agents: their settings, model chains, copies, favorites, deletion and history.',
  operations: ({ codeHost }: Needs<'codeHost'>) => ({
    ...agentOperations,
    ...agentActivityOperations,
    ...grantedAgentOperations,
    ...budgetStateOperations,
    ...assistantOperations,
    ...cloneAgentOperations,
    ...favoriteAgentOperations,
    ...agentSettingsOperations,
    ...codeRefOperationsOf(codeHost),
    ...agentModelOperations,
    ...agentHistoryOperations,
  }),
  plainRoutes: [],
} satisfies Area;
