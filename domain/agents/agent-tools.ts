import { jsonEqual } from '../aggregate.ts';
import { Refusal } from '../refusal.ts';
import { type Agent, type AgentEvent, assertExists } from './agent.ts';

/** The maximum number of tools that are granted to one agent. */
export const MAX_AGENT_TOOLS = 100;

/**
 * The maximum length of all configurations of one agent's tools together, in characters of their JSON texts. A clone of
 * the agent gets them in one event.
 */
export const MAX_CONFIGURATIONS_LENGTH = 262_144;

type Grant = { readonly tool_id: string; readonly is_enabled: boolean; readonly configuration: Readonly<Record<string, unknown>> };

const lengthOf = (configuration: Grant['configuration']): number => JSON.stringify(configuration).length;

/** The length of the configurations of all tools but one. */
const lengthOfOthers = ({ tools }: Agent, tool_id: string): number =>
  Object.entries(tools)
    .filter(([id]) => id !== tool_id)
    .reduce((sum, [, { configuration }]) => sum + lengthOf(configuration), 0);

/**
 * Grants a tool to the agent, or changes the grant.
 * @throws Refusal not_found if the agent does not exist, conflict if its tools or their configurations would be
 * too many
 */
export const grantTool =
  ({ tool_id, is_enabled, configuration }: Grant) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    const present = agent.tools[tool_id];
    if (present?.is_enabled === is_enabled && jsonEqual(present.configuration, configuration)) return [];
    if (!present && Object.keys(agent.tools).length >= MAX_AGENT_TOOLS)
      throw new Refusal('conflict', `The agent already has ${MAX_AGENT_TOOLS} tools`);
    if (lengthOfOthers(agent, tool_id) + lengthOf(configuration) > MAX_CONFIGURATIONS_LENGTH)
      throw new Refusal('conflict', `The configurations of an agent's tools may have ${MAX_CONFIGURATIONS_LENGTH} characters in total`);
    return [{ type: 'AgentToolGranted', data: { tool_id, is_enabled, configuration } }];
  };

/** Revokes a tool from the agent. @throws Refusal not_found if the agent or the grant does not exist */
export const revokeTool =
  (tool_id: string) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!agent.tools[tool_id]) throw new Refusal('not_found', 'The agent does not have this tool');
    return [{ type: 'AgentToolRevoked', data: { tool_id } }];
  };
