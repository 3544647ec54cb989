import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { restore, undelete } from '../../domain/agents/agent-restore.ts';
import { comparePositions, type Position } from '../../domain/event.ts';
import type { Transient } from '../../domain/immutable-record.ts';
import { invalid } from '../../domain/refusal.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import type { CheckAgentLimit } from './agent.ts';
import { loadMembers } from './agent-roles.ts';

export const Restore = z
  .strictObject({
    revision: z.int().min(0).optional().meta({ description: 'The revision of the settings to restore; absent: undelete the agent' }),
  })
  .meta({ id: 'Restore', examples: [{ revision: 3 }] });

type AgentThen = { readonly agent: Agent.Agent; readonly position: Position };

/**
 * Returns the agent as it was at this revision, with the log position of the revision's event.
 * @throws Refusal invalid if the agent has no such revision
 */
const agentAt = async (ctx: Ctx, agent_id: string, revision: number): Promise<AgentThen> => {
  const transient: Transient = new WeakSet();
  let agent = Agent.initial;
  for await (const event of ctx.log.history(Agent, agent_id)) {
    agent = Agent.evolve(agent, event, transient);
    if (event.revision === revision) return { agent, position: event.position };
  }
  throw invalid('/revision', 'the agent has no such revision', 'unknown_revision');
};

/** Returns the Slack settings at the position of the agent's earlier state. */
const slackConfigAt = async (ctx: Ctx, { agent, position }: AgentThen): Promise<SlackConfig.SlackConfig> => {
  let config = SlackConfig.initial;
  for await (const event of ctx.log.history(SlackConfig, agent.id)) {
    if (comparePositions(event.position, position) > 0) break;
    config = SlackConfig.evolve(config, event);
  }
  return SlackConfig.settingsInEffect(config, agent.inherited_slack_config);
};

const undeleteWithinLimit = async (ctx: Ctx, agent_id: string, checkAgentLimit: CheckAgentLimit): Promise<Loaded<Agent.Agent>> => {
  const members = await loadMembers(ctx);
  const restored_by = ctx.principal.kind === 'user' ? ctx.principal.user_id : null;
  return ctx.transact(Agent, agent_id, (agent) => {
    const events = undelete(agent, members, restored_by);
    if (events.length > 0) checkAgentLimit();
    return events;
  });
};

const laterOf = (one: Position | null, other: Position | null): Position | null =>
  one && other ? (comparePositions(one, other) > 0 ? one : other) : (one ?? other);

/**
 * Two streams: after a failure between the appends, a repeat appends what is missing, and restores the same states, because the revision
 * has a fixed log position.
 */
const restoreRevision = async (ctx: Ctx, agent_id: string, revision: number): Promise<Loaded<Agent.Agent>> => {
  const earlier = await agentAt(ctx, agent_id, revision);
  const config = await slackConfigAt(ctx, earlier);
  // The agent is changed first, because the request's If-Match is about the agent.
  const agent = await ctx.transact(Agent, agent_id, restore(earlier.agent, revision));
  const { inherited_slack_config } = earlier.agent;
  const slack = await ctx.transact(SlackConfig, agent_id, SlackConfig.restore(config, inherited_slack_config), {
    ignoreExpectedRevision: true,
  });
  return { ...agent, position: laterOf(agent.position, slack.position) };
};

/**
 * Sets settings, model chain and Slack settings back to `revision`; without it, restores a deleted agent as it was.
 * @throws Refusal not_found, forbidden, conflict, plan_limit, invalid
 */
export const restoreAgent = async (
  ctx: Ctx,
  { agent_id, revision }: Input<typeof Restore, 'tenant_id' | 'agent_id'>,
  checkAgentLimit: CheckAgentLimit,
): Promise<Loaded<Agent.Agent>> => {
  await ctx.require(revision === undefined ? 'agent:delete' : 'agent:settings:write', agent_id);
  return revision === undefined ? undeleteWithinLimit(ctx, agent_id, checkAgentLimit) : restoreRevision(ctx, agent_id, revision);
};
