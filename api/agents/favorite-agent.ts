import { z } from 'zod';
import { favoriteAgent, unfavoriteAgent } from '../../commands/agents/favorite-agent.ts';
import { idOf } from '../../domain/id.ts';
import { operation } from '../http/operation.ts';

const FAVORITE = '/tenant/:tenant_id/agents/:agent_id/favorite';

const AgentFavoriteRead = z
  .object({ user_id: idOf('user', 'The user who marked the agent'), agent_id: idOf('agent') })
  .meta({ id: 'AgentFavoriteRead' });

export const favoriteAgentOperations = {
  favoriteAgent: operation({
    method: 'put',
    path: FAVORITE,
    summary: 'Mark an agent as a favorite of the caller',
    details: 'An API key marks it for the user who created the key.',
    permit: 'agent:read',
    reply: AgentFavoriteRead,
    noETag: true,
    run: favoriteAgent,
  }),
  unfavoriteAgent: operation({
    method: 'delete',
    path: FAVORITE,
    summary: "Remove an agent from the caller's favorites",
    permit: 'agent:read',
    noETag: true,
    run: unfavoriteAgent,
  }),
};
