import { z } from 'zod';
import { AgentCreate, createAgent, deleteAgent } from '../../commands/agents/agent.ts';
import { loadFavorites } from '../../commands/agents/favorite-agent.ts';
import { Restore, restoreAgent } from '../../commands/agents/restore-agent.ts';
import * as Agent from '../../domain/agents/agent.ts';
import type { Position } from '../../domain/event.ts';
import { idOf } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import { AGENT_SORTS, type AgentVisibility, agentCount, agentIdsAsOf, agentPage } from '../../projections/agents/agent.queries.ts';
import { AgentListRead, AgentRead, agents } from '../../projections/agents/agent.ts';
import { writeCursor } from '../../projections/cursor.ts';
import { takeUpToPageSize } from '../../projections/read-model.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { AsOf, asOfQuery, Flag, hasFilters, listQuery, windowOf, withTotalCount } from '../http/paging.ts';
import { ACTIVITY_PROJECTIONS, ACTIVITY_SORTS, AgentIds, agentRanks, isActivitySort, REUSED_SECONDS } from './agent-activity.ts';
import { withinAgentLimit } from './agent-limit.ts';
import { agentDoc } from './agent-settings.ts';
import { agentVisibility } from './readable-agents.ts';

const AGENTS = '/tenant/:tenant_id/agents';
const AGENT = `${AGENTS}/:agent_id`;
const SORTS = [...AGENT_SORTS, ...ACTIVITY_SORTS];
const query = listQuery(
  {
    as_of: AsOf,
    q: z.string().min(1).max(255).optional().meta({ description: 'Only agents with this text in their name or slug' }),
    is_active: Flag.optional().meta({ description: 'Only active, or only inactive agents' }),
    kind: z.enum(Agent.AGENT_KINDS).optional().meta({ description: 'Only agents of this kind' }),
    favorite: Flag.optional().meta({ description: 'Only favorites of the caller, or only other agents' }),
    deleted: Flag.optional().meta({ description: 'Only deleted agents. Default: only agents that are not deleted' }),
    agent_id: AgentIds.optional().meta({ description: 'Only these agents, separated by commas; at most 200' }),
    skill_id: idOf('skill').optional().meta({ description: 'Only agents that have this skill' }),
    tool_id: idOf('tool').optional().meta({ description: 'Only agents that have this tool' }),
  },
  SORTS,
);

const FOLD_BATCH = 20;

/**
 * Returns a page of the agents that existed at the log position `at`, each as it was then. Agents that the caller may
 * not see today are left out.
 */
const agentsAsOf = async (ctx: Ctx, at: Position, visibility: AgentVisibility, window: ReturnType<typeof windowOf>) => {
  const { ids, next } = await agentIdsAsOf(ctx.reads, ctx.tenant, at, window);
  const liveOf = async (id: string): Promise<Agent.Agent[]> => {
    const { state } = visibility.all || (await ctx.may('agent:read', id)) ? await ctx.load(Agent, id) : { state: Agent.initial };
    return state.status === 'live' ? [state] : [];
  };
  const favorites = await loadFavorites(ctx);
  const docOf = (agent: Agent.Agent) => JSON.stringify(AgentListRead.parse({ ...agent, is_favorite: favorites[agent.id] !== undefined }));
  const found: Agent.Agent[] = [];
  const docs: string[] = [];
  for (let first = 0; first < ids.length; first += FOLD_BATCH) {
    const live = (await Promise.all(ids.slice(first, first + FOLD_BATCH).map(liveOf))).flat();
    found.push(...live);
    docs.push(...live.map(docOf));
    const page = takeUpToPageSize(docs);
    const { created_at, id } = found[page.length - 1] ?? {};
    if (page.length < docs.length) return { body: `[${page}]`, next: writeCursor([created_at!, id!], window.sort) };
  }
  return { body: `[${docs}]`, next };
};

export const agentOperations = {
  createAgent: operation({
    method: 'post',
    path: AGENTS,
    summary: 'Create an agent',
    details: 'The caller becomes its owner.',
    permit: 'tenant:agents:create',
    permissionNote: 'Requires the permission `tenant:agents:create`; with `is_admin_only` also the role OWNER or ADMIN.',
    body: AgentCreate,
    reply: AgentRead,
    status: 201,
    location: `${AGENTS}/:id`,
    run: (ctx, input) => withinAgentLimit(ctx, (checkLimit) => createAgent(ctx, input, checkLimit)),
  }),
  listAgents: operation({
    method: 'get',
    path: AGENTS,
    summary: 'List the agents that the caller may see',
    details: `Besides their fields, agents are sorted by \`activity\` (the time of the last delivery), \`queue\` (unfinished deliveries), \`deliveries\` and \`failed\` (of the last 24 hours), and \`cost\` (of today, UTC). Such numbers can be ${REUSED_SECONDS} seconds old, so that the pages of a list fit together; those that the caller may not see count as 0.`,
    permit: 'tenant:read',
    query,
    reply: z.array(AgentListRead),
    projection: agents.name,
    otherProjections: ({ sort }) => (isActivitySort(sort?.replace(/^-/, '') ?? '') ? ACTIVITY_PROJECTIONS : []),
    run: async (ctx, { q, is_active, kind, favorite, deleted, agent_id, skill_id, tool_id, as_of: _, ...window }) => {
      const visibility = await agentVisibility(ctx);
      const filter = { q, is_active, kind, favorite, deleted, item_id: skill_id ?? tool_id };
      if (ctx.asOf) {
        if (hasFilters({ ...filter, agent_id, sort: window.sort }))
          throw invalid('/query/as_of', 'cannot be combined with filters or sorting', 'not_with_filters');
        return agentsAsOf(ctx, ctx.asOf, visibility, windowOf(window));
      }
      const pageWindow = windowOf(window, SORTS);
      const { column } = pageWindow.sort;
      if (deleted && isActivitySort(column)) throw invalid('/query/deleted', 'cannot be combined with this sorting', 'not_with_filters');
      if (agent_id && favorite !== undefined) throw invalid('/query/agent_id', 'cannot be combined with favorite', 'not_with_filters');
      if (skill_id && tool_id) throw invalid('/query/skill_id', 'cannot be combined with tool_id', 'not_with_filters');
      const [favorites, ranks] = await Promise.all([loadFavorites(ctx), isActivitySort(column) ? agentRanks(ctx, column) : undefined]);
      const ids = agent_id?.split(',');
      const page = agentPage(ctx.reads, ctx.tenant, { ...filter, visibility, favorites, ranks, ids }, pageWindow);
      return visibility.all ? withTotalCount({ ...filter, agent_id }, page, () => agentCount(ctx.reads, ctx.tenant)) : page;
    },
  }),
  getAgent: operation({
    method: 'get',
    path: AGENT,
    summary: 'Read an agent',
    permit: { all: ['agent:read'], runner: true },
    reply: AgentRead,
    projection: agents.name,
    aggregate: Agent,
    query: asOfQuery,
    run: (ctx, { agent_id }) => agentDoc(ctx, agent_id, 'doc', AgentRead),
  }),
  deleteAgent: operation({
    method: 'delete',
    path: AGENT,
    summary: 'Delete an agent',
    permit: 'agent:delete',
    run: (ctx, input) => withinAgentLimit(ctx, () => deleteAgent(ctx, input)),
  }),
  restoreAgent: operation({
    method: 'post',
    path: `${AGENT}/restore`,
    summary: 'Restore an agent',
    details: 'Undeletes a deleted agent, or restores the settings of an earlier revision, with the Slack settings at that time.',
    permit: 'tenant:read',
    permissionNote:
      'Requires the permission `agent:delete` to restore a deleted agent, `agent:settings:write` to restore the settings of a revision.',
    // The body decides which of the two permissions is needed, and is not read yet. So a caller with one of them
    // passes, and `run` checks the right one.
    preauthorize: async (ctx, { agent_id }) => {
      if (!(await ctx.may('agent:settings:write', agent_id))) await ctx.require('agent:delete', agent_id);
    },
    body: Restore,
    reply: AgentRead,
    run: (ctx, input) => withinAgentLimit(ctx, (checkLimit) => restoreAgent(ctx, input, checkLimit)),
  }),
};
