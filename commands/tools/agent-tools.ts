import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { grantTool, isFull, revokeTool } from '../../domain/agents/agent-tools.ts';
import { idOf } from '../../domain/id.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Input } from '../context.ts';
import { assertMatches } from '../json-schema-validator.ts';
import { loadTool, loadTools } from './tool.ts';

const MAX_CONFIGURATION_LENGTH = 16_384;

export const AgentToolGrant = z
  .strictObject({
    tool_id: idOf('tool'),
    is_enabled: z.boolean().default(true).meta({ description: 'Whether the agent may use the tool at present' }),
    configuration: z
      .record(z.string(), z.unknown())
      .refine((value) => JSON.stringify(value).length <= MAX_CONFIGURATION_LENGTH, {
        message: `must have at most ${MAX_CONFIGURATION_LENGTH} characters as JSON`,
        abort: true,
      })
      .nullable()
      .default(null)
      .meta({
        description: "Settings of the tool for this agent, which match the tool's input schema; null for none",
        examples: [{ channel: 'alerts' }],
      }),
  })
  .meta({ id: 'AgentToolGrant' });

/** Returns a tool of an agent as the API shows it. */
export const agentToolView = (agent: Agent.Agent, tool_id: string) => ({ agent_id: agent.id, tool_id, ...agent.tools[tool_id]! });

/** @throws Refusal invalid if there is no such tool, or the configuration does not match its input schema */
const checkTool = async (ctx: Ctx, { tool_id, configuration }: z.output<typeof AgentToolGrant>): Promise<null> => {
  const tool = await loadTool(ctx, tool_id).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'not_found') throw invalid('/tool_id', 'there is no such tool', 'unknown_tool');
    throw error;
  });
  if (configuration) assertMatches(ctx.checks, '/configuration', tool.state.input_schema, configuration);
  return null;
};

/** Granted tools that no longer exist; empty if the agent has fewer than the maximum number, because no grant has to be revoked. */
const removedTools = async (ctx: Ctx, agent: Agent.Agent): Promise<string[]> => {
  if (!isFull(agent)) return [];
  const ids = Object.keys(agent.tools);
  const existing = new Set((await loadTools(ctx, ids)).map(({ id }) => id));
  return ids.filter((id) => !existing.has(id));
};

/** @throws Refusal not_found, conflict, invalid if the tool is unknown or the configuration does not match its schema */
export const grantAgentTool = async (ctx: Ctx, input: Input<typeof AgentToolGrant, 'tenant_id' | 'agent_id'>) => {
  const { agent_id, tool_id, is_enabled, configuration } = input;
  const { state } = await loadAgent(ctx, agent_id);
  // A repeat with the same Idempotency-Key succeeds even if the tool has changed since.
  await ctx.sideEffect(() => checkTool(ctx, input));
  const removed = await removedTools(ctx, state);
  let existed = false;
  const loaded = await ctx.transact(Agent, agent_id, (agent) => {
    existed = agent.tools[tool_id] !== undefined;
    return grantTool({ tool_id, is_enabled, configuration: configuration ?? {} }, removed)(agent);
  });
  return { ...loaded, state: agentToolView(loaded.state, tool_id), existed };
};

/** @throws Refusal not_found */
export const revokeAgentTool = (ctx: Ctx, { agent_id, tool_id }: { agent_id: string; tool_id: string }) =>
  ctx.transact(Agent, agent_id, revokeTool(tool_id));
