import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { AGENT_FIELDS } from '../../domain/agents/agent-fields.ts';
import { changeBudget, changeSkillVisibility, update } from '../../domain/agents/agent-settings.ts';
import { plainFieldsToUpdate } from '../../domain/agents/plain-settings.ts';
import { microsOf, Usd } from '../../domain/money.ts';
import type { Ctx, Input } from '../context.ts';

export const AgentUpdate = z
  .strictObject({
    ...plainFieldsToUpdate,
    can_author_skills: z.boolean().nullish().meta(AGENT_FIELDS.can_author_skills),
    external_mail_enabled: z.boolean().nullish().meta(AGENT_FIELDS.external_mail_enabled),
    is_active: z.boolean().nullish().meta(AGENT_FIELDS.is_active),
    is_admin_only: z.boolean().nullish().meta(AGENT_FIELDS.is_admin_only),
    name: Agent.AgentName.nullish().meta(AGENT_FIELDS.name),
    ssh_public_key: z.string().nullish().meta(AGENT_FIELDS.ssh_public_key),
  })
  .meta({ id: 'AgentUpdate', examples: [{ description: 'Reviews pull requests', is_active: false }] });

export const AgentCanAuthorSkillsUpdate = z
  .strictObject({ can_author_skills: z.boolean().meta(AGENT_FIELDS.can_author_skills) })
  .meta({ id: 'AgentCanAuthorSkillsUpdate', examples: [{ can_author_skills: true }] });

export const AgentSkillVisibilityScopeUpdate = z
  .strictObject({ skill_visibility_scope: z.enum(Agent.SKILL_VISIBILITY_SCOPES).meta(AGENT_FIELDS.skill_visibility_scope) })
  .meta({ id: 'AgentSkillVisibilityScopeUpdate', examples: [{ skill_visibility_scope: 'tenant_allowed' }] });

export const AgentBudgetUpdate = z
  .strictObject({ hourly_limit_usd: Usd.nullish().meta(AGENT_FIELDS.hourly_limit_usd) })
  .meta({ id: 'AgentBudgetUpdate', examples: [{ hourly_limit_usd: 2.5 }] });

type OfAgent<Body extends z.ZodType> = Input<Body, 'tenant_id' | 'agent_id'>;

export const updateAgent = async (
  ctx: Ctx,
  { tenant_id: _, agent_id, ...changes }: Input<typeof AgentUpdate, 'tenant_id' | 'agent_id'>,
) => {
  const changesGuarded = changes.can_author_skills !== undefined || changes.is_admin_only !== undefined;
  const mayManageRoles = changesGuarded && (await ctx.may('agent:roles:write', agent_id));
  return ctx.transact(Agent, agent_id, update(changes, mayManageRoles));
};

/** @throws Refusal not_found */
export const changeSkillAuthoring = (ctx: Ctx, { agent_id, can_author_skills }: OfAgent<typeof AgentCanAuthorSkillsUpdate>) =>
  ctx.transact(Agent, agent_id, update({ can_author_skills }, true));

export const changeAgentSkillVisibility = (
  ctx: Ctx,
  { agent_id, skill_visibility_scope }: OfAgent<typeof AgentSkillVisibilityScopeUpdate>,
) => ctx.transact(Agent, agent_id, changeSkillVisibility(skill_visibility_scope));

/** Null removes the limit; an absent value keeps it. @throws Refusal not_found */
export const changeAgentBudget = (ctx: Ctx, { agent_id, hourly_limit_usd }: OfAgent<typeof AgentBudgetUpdate>) =>
  ctx.transact(Agent, agent_id, (agent) => {
    const hourly_limit_micros = hourly_limit_usd === undefined ? agent.hourly_limit_micros : hourly_limit_usd && microsOf(hourly_limit_usd);
    return changeBudget({ hourly_limit_micros })(agent);
  });
