import { z } from 'zod';
import { idOf } from '../../domain/id.ts';
import { grantCounts } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { idList } from '../http/id-list.ts';
import { operation } from '../http/operation.ts';
import { MAX_IDS } from './agent-activity.ts';
import { agentVisibility } from './readable-agents.ts';

const GrantCount = z
  .object({
    id: z.union([idOf('skill'), idOf('tool')]).meta({ description: 'The id of the skill or tool' }),
    agent_count: z.int().meta({ description: 'How many agents have it, of those that the caller may see', examples: [2] }),
  })
  .meta({ id: 'GrantCount' });

export const grantedAgentOperations = {
  countGrants: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/grants',
    summary: 'Count the agents that have skills or tools',
    details: 'Deleted agents do not count. `GET /tenant/{tenant_id}/agents?skill_id=…` or `?tool_id=…` lists the agents.',
    permit: 'tenant:read',
    query: z.strictObject({
      id: idList('skills or tools', MAX_IDS)
        .optional()
        .meta({
          description: `The ids of skills or tools, separated by commas, at most ${MAX_IDS}; without it, nothing is counted`,
          examples: ['csr1s67cosx37f6vjxqmp9hi1'],
        }),
    }),
    reply: z.array(GrantCount),
    projection: agents.name,
    noETag: true,
    run: async (ctx, { id }) => {
      const ids = [...new Set(id?.split(','))];
      const counts = await grantCounts(ctx.reads, ctx.tenant, { visibility: await agentVisibility(ctx), item_ids: ids });
      const found = ids.map((one) => ({ id: one, agent_count: counts.get(one) ?? 0 }));
      return { doc: JSON.stringify(z.array(GrantCount).parse(found)), revision: null };
    },
  }),
};
