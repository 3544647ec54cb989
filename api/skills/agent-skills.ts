import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import {
  AgentSkillGrant,
  AgentSkillPermissionUpdate,
  grantAgentSkill,
  grantView,
  loadLiveSkills,
  replaceSkillPermissions,
  revokeAgentSkill,
} from '../../commands/skills/agent-skills.ts';
import { AgentSkillConfigUpdate, changeSkillConfig, readSkillConfig } from '../../commands/skills/skill-config.ts';
import type * as Agent from '../../domain/agents/agent.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { AsOf, asOfQuery, listQuery, type PageWindow, paginate } from '../http/paging.ts';

const AGENT = '/tenant/:tenant_id/agents/:agent_id';

export const AgentSkillRead = z
  .object({
    agent_id: idOf('agent'),
    skill_id: idOf('skill'),
    is_enabled: z.boolean().meta({ description: 'Whether the agent can use the skill' }),
    created_at: Timestamp.meta({ description: 'When the agent got the skill' }),
    has_config: z.boolean().meta({ description: 'Whether the skill has a configuration for this agent' }),
  })
  .meta({ id: 'AgentSkillRead' });

const AgentSkillPermissionRead = z
  .object({
    agent_id: idOf('agent'),
    skill_id: idOf('skill'),
    action: z.string().meta({ description: 'Always `use`, the only action', examples: ['use'] }),
    allowed: z.boolean().meta({ description: 'Whether the agent may use the skill' }),
    created_at: Timestamp,
  })
  .meta({ id: 'AgentSkillPermissionRead' });

const AgentSkillConfigRead = z
  .object({
    agent_id: idOf('agent'),
    skill_id: idOf('skill'),
    config: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'The configuration, decrypted; null if there is none', examples: [{ channel: 'releases' }] }),
  })
  .meta({ id: 'AgentSkillConfigRead' });

type AgentWindow = PageWindow & { readonly agent_id: string };

const listSkills = async (ctx: Ctx, { agent_id, ...window }: AgentWindow) => {
  const { state, position } = await loadAgent(ctx, agent_id);
  const live = await loadLiveSkills(ctx, Object.keys(state.skills));
  const granted = Object.entries(state.skills).filter(([id]) => live.has(id));
  const { items, next } = paginate(
    granted.map(([id, { created_at }]) => ({ id, created_at })),
    window,
  );
  return { body: JSON.stringify(z.array(AgentSkillRead).parse(items.map(({ id }) => grantView(state, id)))), next, position };
};

const permissionsOf = (agent: Agent.Agent, isShown: (skill_id: string) => boolean) =>
  agent.skill_permissions.filter(({ skill_id }) => isShown(skill_id)).map((permission) => ({ agent_id: agent.id, ...permission }));

const listPermissions = async (ctx: Ctx, { agent_id, ...window }: AgentWindow) => {
  const { state, position } = await loadAgent(ctx, agent_id);
  const live = await loadLiveSkills(
    ctx,
    state.skill_permissions.map(({ skill_id }) => skill_id),
  );
  const shown = permissionsOf(state, (skill_id) => live.has(skill_id)).map((one) => ({ ...one, id: one.skill_id }));
  const { items, next } = paginate(shown, window);
  return { body: JSON.stringify(z.array(AgentSkillPermissionRead).parse(items)), next, position };
};

export const agentSkillOperations = {
  listAgentSkills: operation({
    method: 'get',
    path: `${AGENT}/skills`,
    summary: 'List the skills of the agent',
    permit: 'agent:read',
    query: listQuery({ as_of: AsOf }),
    reply: z.array(AgentSkillRead),
    run: listSkills,
  }),
  grantAgentSkill: operation({
    method: 'post',
    path: `${AGENT}/skills`,
    summary: 'Give a skill to the agent',
    details: 'Enables or disables the skill if the agent has it already. The caller must be able to see the skill.',
    permit: 'agent:skills:write',
    body: AgentSkillGrant,
    reply: AgentSkillRead,
    status: 201,
    alternateStatus: 200,
    location: `${AGENT}/skills/:skill_id`,
    run: grantAgentSkill,
  }),
  revokeAgentSkill: operation({
    method: 'delete',
    path: `${AGENT}/skills/:skill_id`,
    summary: 'Take a skill from the agent',
    details: 'Its configuration for this agent is removed.',
    permit: 'agent:skills:write',
    run: revokeAgentSkill,
  }),
  readAgentSkillConfig: operation({
    method: 'get',
    path: `${AGENT}/skills/:skill_id/config`,
    summary: "Read a skill's configuration for the agent",
    details: 'Each response with a configuration is recorded in the audit log of the tenant.',
    permit: { all: ['agent:skills:write'], recentSignIn: true },
    query: asOfQuery,
    reply: AgentSkillConfigRead,
    noConditionalGet: true,
    run: readSkillConfig,
  }),
  changeAgentSkillConfig: operation({
    method: 'patch',
    path: `${AGENT}/skills/:skill_id/config`,
    summary: "Replace a skill's configuration for the agent",
    details: 'Replaces it as a whole; null or an absent field clears it. It must match the `config_schema` of the skill.',
    permit: 'agent:skills:write',
    body: AgentSkillConfigUpdate,
    reply: AgentSkillConfigRead,
    run: changeSkillConfig,
  }),
  listAgentSkillPermissions: operation({
    method: 'get',
    path: `${AGENT}/skill-permissions`,
    summary: 'List the permissions of the agent on skills',
    details: 'The agent may use a skill without an entry.',
    permit: 'agent:read',
    query: listQuery({ as_of: AsOf }),
    reply: z.array(AgentSkillPermissionRead),
    run: listPermissions,
  }),
  replaceAgentSkillPermissions: operation({
    method: 'put',
    path: `${AGENT}/skill-permissions`,
    summary: 'Replace the permissions of the agent on skills',
    details: 'Entries that are absent from the list are removed.',
    permit: 'agent:skills:write',
    body: AgentSkillPermissionUpdate,
    reply: z.array(AgentSkillPermissionRead),
    run: async (ctx, input) => {
      const loaded = await replaceSkillPermissions(ctx, input);
      return { ...loaded, state: permissionsOf(loaded.state, () => true) };
    },
  }),
};
