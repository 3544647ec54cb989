import type { Agent } from '../../domain/agents/agent.ts';
import { Refusal } from '../../domain/refusal.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Loaded } from '../context.ts';

/** The route has checked that a runner key is this agent's. @throws Refusal not_found, forbidden if the caller uses no runner key */
export const requireRunner = async (ctx: Ctx, agent_id: string): Promise<Loaded<Agent>> => {
  const agent = await loadAgent(ctx, agent_id);
  if (ctx.principal.kind !== 'runner') throw new Refusal('forbidden', "This needs the agent's runner key");
  return agent;
};
