import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { AgentSlackConfigUpdate, changeSlackConfig, slackConfigFields } from '../../commands/slack/slack-config.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery } from '../http/paging.ts';

const SLACK_CONFIG = '/tenant/:tenant_id/agents/:agent_id/slack-config';

export const AgentSlackConfigRead = z
  .object({
    ...slackConfigFields,
    working_hours_enabled: z.boolean().meta({ description: 'Whether the agent works only during its working hours' }),
    when_closed: z.enum(SlackConfig.WHEN_CLOSED).meta({
      description: 'What happens to deliveries outside the working hours and beyond the limits: `block`, or `hold` until they can continue',
    }),
  })
  .meta({ id: 'AgentSlackConfigRead' });

export const slackConfigOperations = {
  getSlackConfig: operation({
    method: 'get',
    path: SLACK_CONFIG,
    summary: "Read an agent's Slack settings",
    permit: 'agent:read',
    reply: AgentSlackConfigRead,
    aggregate: SlackConfig,
    query: asOfQuery,
    run: async (ctx, { agent_id }) => {
      const agent = await loadAgent(ctx, agent_id);
      const loaded = await ctx.load(SlackConfig, agent_id);
      const state = SlackConfig.settingsInEffect(loaded.state, agent.state.inherited_slack_config);
      return { ...loaded, position: loaded.position ?? agent.position, state };
    },
  }),
  changeSlackConfig: operation({
    method: 'put',
    path: SLACK_CONFIG,
    summary: "Change an agent's Slack settings",
    details: 'Absent fields stay unchanged; null clears a field.',
    permit: 'agent:settings:write',
    body: AgentSlackConfigUpdate,
    reply: AgentSlackConfigRead,
    run: changeSlackConfig,
  }),
};
