import { Refusal } from '../../domain/refusal.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx } from '../context.ts';

/**
 * Checks that the caller uses a runner key. The route has already checked that the key belongs to this agent.
 * @throws Refusal not_found if the agent does not exist or is deleted, forbidden for any other caller
 */
export const requireRunner = async (ctx: Ctx, agent_id: string): Promise<void> => {
  await loadAgent(ctx, agent_id);
  if (ctx.principal.kind !== 'runner') throw new Refusal('forbidden', "This needs the agent's runner key");
};
