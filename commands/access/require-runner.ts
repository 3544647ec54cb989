import type { Agent } from '../../domain/agents/agent.ts';
import { Refusal } from '../../domain/refusal.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Loaded } from '../context.ts';

/**
 * Loads an agent for its runner. Checks that the caller uses a runner key. That the key belongs to this agent was checked before, by the route.
 * @throws Refusal not_found if the agent does not exist or is deleted, forbidden if the caller uses no runner key
 */
export const requireRunner = async (ctx: Ctx, agent_id: string): Promise<Loaded<Agent>> => {
  const agent = await loadAgent(ctx, agent_id);
  if (ctx.principal.kind !== 'runner') throw new Refusal('forbidden', "This needs the agent's runner key");
  return agent;
};
