import { z } from 'zod';
import type { Permission } from '../../domain/access/permission.ts';
import { Id25 } from '../../domain/id.ts';
import type { Operation } from '../http/operation.ts';

const AgentInBody = z.object({ agent_id: Id25 });

/**
 * Creates the permission check of an operation whose body names the agent: the caller must have `permission` on this
 * agent. A body without a valid `agent_id` passes the check, because it is refused later as invalid.
 * @throws Refusal forbidden, not_found
 */
export const requireOnAgentInBody =
  (permission: Permission): NonNullable<Operation['preauthorize']> =>
  async (ctx, _, readBody) => {
    const agent = AgentInBody.safeParse(await readBody());
    if (agent.success) await ctx.require(permission, agent.data.agent_id);
  };
