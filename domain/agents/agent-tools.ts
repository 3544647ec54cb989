import { jsonEqual } from '../aggregate.ts';
import { Refusal } from '../refusal.ts';
import { type Agent, type AgentEvent, assertExists } from './agent.ts';

export const MAX_AGENT_TOOLS = 100;

/**
 * The maximum total length of the configurations of all tools of one agent, in characters of JSON text. The limit
 * exists because the event of a clone of the agent contains all of them.
 */
export const MAX_CONFIGURATIONS_LENGTH = 262_144;

type Grant = { readonly tool_id: string; readonly is_enabled: boolean; readonly configuration: Readonly<Record<string, unknown>> };

const lengthOf = (configuration: Grant['configuration']): number => JSON.stringify(configuration).length;

/** Returns the total length of the configurations of all tools of the agent, except the tools in `except`. */
const lengthOfOthers = ({ tools }: Agent, except: readonly string[]): number =>
  Object.entries(tools)
    .filter(([id]) => !except.includes(id))
    .reduce((sum, [, { configuration }]) => sum + lengthOf(configuration), 0);

export const isFull = ({ tools }: Agent): boolean => Object.keys(tools).length >= MAX_AGENT_TOOLS;

/**
 * Grants a tool to the agent, or changes the grant. If the agent already has the maximum number of tools, the grants of
 * the tools in `removed`, which no longer exist, are revoked to make room.
 * @throws Refusal not_found if the agent does not exist, conflict if the agent would have too many tools or too long
 * configurations
 */
export const grantTool =
  ({ tool_id, is_enabled, configuration }: Grant, removed: readonly string[] = []) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    const present = agent.tools[tool_id];
    if (present?.is_enabled === is_enabled && jsonEqual(present.configuration, configuration)) return [];
    const superseded = !present && isFull(agent) ? removed.filter((id) => agent.tools[id]) : [];
    if (!present && Object.keys(agent.tools).length - superseded.length >= MAX_AGENT_TOOLS)
      throw new Refusal('conflict', `The agent already has ${MAX_AGENT_TOOLS} tools`);
    if (lengthOfOthers(agent, [tool_id, ...superseded]) + lengthOf(configuration) > MAX_CONFIGURATIONS_LENGTH)
      throw new Refusal('conflict', `The configurations of an agent's tools may have ${MAX_CONFIGURATIONS_LENGTH} characters in total`);
    const revoked = superseded.map((id): AgentEvent => ({ type: 'AgentToolRevoked', data: { tool_id: id } }));
    return [...revoked, { type: 'AgentToolGranted', data: { tool_id, is_enabled, configuration } }];
  };

/** Revokes a tool from the agent. @throws Refusal not_found if the agent or the grant does not exist */
export const revokeTool =
  (tool_id: string) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!agent.tools[tool_id]) throw new Refusal('not_found', 'The agent does not have this tool');
    return [{ type: 'AgentToolRevoked', data: { tool_id } }];
  };
