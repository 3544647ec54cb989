import { jsonEqual } from '../aggregate.ts';
import { Refusal } from '../refusal.ts';
import { type Agent, type AgentEvent, assertExists } from './agent.ts';

export const MAX_AGENT_TOOLS = 100;

/** In characters of JSON text, all tools of one agent together: the event of a clone contains all of them. */
export const MAX_CONFIGURATIONS_LENGTH = 262_144;

type Grant = { readonly tool_id: string; readonly is_enabled: boolean; readonly configuration: Readonly<Record<string, unknown>> };

const lengthOf = (configuration: Grant['configuration']): number => JSON.stringify(configuration).length;

const lengthOfOthers = ({ tools }: Agent, except: readonly string[]): number =>
  Object.entries(tools)
    .filter(([id]) => !except.includes(id))
    .reduce((sum, [, { configuration }]) => sum + lengthOf(configuration), 0);

export const isFull = ({ tools }: Agent): boolean => Object.keys(tools).length >= MAX_AGENT_TOOLS;

/**
 * At the maximum number of tools, drops those in `removed`, which no longer exist.
 * @throws Refusal not_found, conflict if there would be too many tools or too long configurations
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

/** @throws Refusal not_found if the agent or the grant does not exist */
export const revokeTool =
  (tool_id: string) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!agent.tools[tool_id]) throw new Refusal('not_found', 'The agent does not have this tool');
    return [{ type: 'AgentToolRevoked', data: { tool_id } }];
  };
