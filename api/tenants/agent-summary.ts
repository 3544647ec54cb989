import { z } from 'zod';
import { loadFavorites } from '../../commands/agents/favorite-agent.ts';
import { idOf } from '../../domain/id.ts';
import { agentCounts, agentPage } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { MAX_IDS } from '../agents/agent-activity.ts';
import { agentVisibility } from '../agents/readable-agents.ts';
import { operation } from '../http/operation.ts';
import { ATTENTION_PROJECTIONS, agentsInNeed, REUSED_SECONDS, type Runners } from './attention.ts';

const count = (description: string, example: number) => z.int().meta({ description, examples: [example] });

export const AgentSummary = z
  .object({
    all: count('How many agents are not deleted', 12),
    attention: count('How many of them have an error or a warning in the overview of the tenant, at least', 1),
    attention_ids: z
      .array(idOf('agent'))
      .meta({ description: `The ids of these agents, of the newest ${MAX_IDS} at most`, examples: [['czdoc9is0j8ht9lgmxg9edn58']] }),
    active: count('How many of them are active', 11),
    paused: count('How many of them are not active', 1),
    favorites: count('How many of them are favorites of the caller', 2),
    deleted: count('How many agents are deleted', 0),
  })
  .meta({ id: 'AgentSummary' });

/** Creates the operation that counts agents. `runners` says which of them need attention. */
export const agentSummaryOperationOf = (runners: Runners) => ({
  readAgentSummary: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/summary',
    summary: 'Count the agents that the caller may see',
    details: `Which agents need attention can be ${REUSED_SECONDS} seconds old.`,
    permit: 'tenant:read',
    reply: AgentSummary,
    projection: agents.name,
    otherProjections: ATTENTION_PROJECTIONS,
    noETag: true,
    run: async (ctx) => {
      const visibility = await agentVisibility(ctx);
      const [marked, inNeed] = await Promise.all([loadFavorites(ctx), agentsInNeed(ctx, runners)]);
      const ofTenant = Object.keys(marked).filter((id) => marked[id] === ctx.tenant);
      const counts = (ids?: readonly string[]) => agentCounts(ctx.reads, ctx.tenant, { visibility, ids });
      const newest = { sort: { column: 'created_at', descending: true }, limit: MAX_IDS };
      const [all, favorites, attention, page] = await Promise.all([
        counts(),
        counts(ofTenant),
        counts(inNeed),
        agentPage(ctx.reads, ctx.tenant, { visibility, ids: inNeed }, newest),
      ]);
      const attention_ids = (JSON.parse(page.body) as { id: string }[]).map(({ id }) => id);
      return {
        doc: JSON.stringify(AgentSummary.parse({ ...all, favorites: favorites.all, attention: attention.all, attention_ids })),
        revision: null,
      };
    },
  }),
});
