import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { AgentToolGrant, agentToolView, grantAgentTool, revokeAgentTool } from '../../commands/tools/agent-tools.ts';
import { loadTools } from '../../commands/tools/tool.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { AsOf, listQuery, type PageWindow, paginate } from '../http/paging.ts';

const AGENT_TOOLS = '/tenant/:tenant_id/agents/:agent_id/tools';

const AgentToolRead = z
  .object({
    agent_id: idOf('agent'),
    tool_id: idOf('tool'),
    configuration: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The settings of the tool for this agent', examples: [{ channel: 'alerts' }] }),
    is_enabled: z.boolean().meta({ description: 'Whether the agent may use the tool at present' }),
    created_at: Timestamp.meta({ description: 'When the tool was granted' }),
    updated_at: Timestamp,
  })
  .meta({ id: 'AgentToolRead' });

/** Lists the tools that are granted to an agent. Removed tools are not shown, although their grants still exist. */
const listAgentTools = async (ctx: Ctx, { agent_id, ...window }: PageWindow & { agent_id: string }) => {
  const { state, position } = await loadAgent(ctx, agent_id);
  const existing = await loadTools(ctx, Object.keys(state.tools));
  const { items, next } = paginate(
    existing.map(({ id }) => ({ id, created_at: state.tools[id]!.created_at })),
    window,
  );
  return { body: JSON.stringify(items.map(({ id }) => AgentToolRead.parse(agentToolView(state, id)))), next, position };
};

export const agentToolOperations = {
  listAgentTools: operation({
    method: 'get',
    path: AGENT_TOOLS,
    summary: 'List the tools of the agent',
    permit: 'agent:read',
    query: listQuery({ as_of: AsOf }),
    reply: z.array(AgentToolRead),
    run: listAgentTools,
  }),
  grantAgentTool: operation({
    method: 'post',
    path: AGENT_TOOLS,
    summary: 'Grant the agent a tool',
    details: 'Replaces the settings of a tool that the agent has.',
    permit: 'agent:tools:write',
    body: AgentToolGrant,
    reply: AgentToolRead,
    status: 201,
    alternateStatus: 200,
    location: `${AGENT_TOOLS}/:tool_id`,
    run: grantAgentTool,
  }),
  revokeAgentTool: operation({
    method: 'delete',
    path: `${AGENT_TOOLS}/:tool_id`,
    summary: 'Revoke a tool from the agent',
    permit: 'agent:tools:write',
    run: revokeAgentTool,
  }),
};
