import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { idOf } from '../../domain/id.ts';
import { invalid, notFound } from '../../domain/refusal.ts';
import { assertGranted, grantSkill, MAX_SKILLS, replacePermissions, revokeSkill } from '../../domain/skills/agent-skills.ts';
import * as Skill from '../../domain/skills/skill.ts';
import { requireRunner } from '../access/require-runner.ts';
import { loadAgent } from '../agents/agent.ts';
import { checkOnce } from '../check-once.ts';
import type { Ctx, Input, Loaded } from '../context.ts';

export const AgentSkillGrant = z
  .strictObject({
    skill_id: idOf('skill'),
    is_enabled: z.boolean().default(true).meta({ description: 'Whether the agent can use the skill' }),
  })
  .meta({ id: 'AgentSkillGrant' });

export const AgentSkillPermissionEntry = z
  .strictObject({
    skill_id: idOf('skill'),
    action: z.literal('use', 'must be "use", the only action').default('use').meta({ description: 'Always `use`, the only action' }),
    allowed: z.boolean().default(true).meta({ description: 'Whether the agent may use the skill' }),
  })
  .meta({ id: 'AgentSkillPermissionEntry' });

export const AgentSkillPermissionUpdate = z
  .strictObject({
    permissions: z
      .array(AgentSkillPermissionEntry)
      .max(MAX_SKILLS, `must have at most ${MAX_SKILLS} items`)
      .meta({ description: 'All permissions of the agent on skills; those that are absent are removed' }),
  })
  .meta({ id: 'AgentSkillPermissionUpdate', examples: [{ permissions: [{ skill_id: 'cke0w9ax4rhv1tn7dq3zs5mjf', allowed: false }] }] });

/** Whether the caller sees all skills: OWNERs and ADMINs of the tenant do. */
export const seesAllSkills = (ctx: Ctx): Promise<boolean> => ctx.may('tenant:skills:write');

/** Skills that are not deleted, by id. */
export const loadLiveSkills = async (ctx: Ctx, ids: readonly string[]): Promise<ReadonlyMap<string, Skill.Skill>> => {
  const loaded = await Promise.all(ids.map((id) => ctx.load(Skill, id)));
  return new Map(loaded.filter(({ state }) => state.status === 'live').map(({ id, state }) => [id, state]));
};

/** The skill is enabled, and no permission forbids it. */
const mayUseSkill = ({ skills, skill_permissions }: Agent.Agent, id: string): boolean =>
  skills[id]?.is_enabled === true && !skill_permissions.some(({ skill_id, allowed }) => skill_id === id && !allowed);

/** `usable` has only the live ones, `loaded` also the deleted ones. */
export const loadUsableSkills = async (ctx: Ctx, agent: Agent.Agent) => {
  const ids = Object.keys(agent.skills).filter((id) => mayUseSkill(agent, id));
  const loaded = await Promise.all(ids.map((id) => ctx.load(Skill, id)));
  return { usable: loaded.filter(({ state }) => state.status === 'live'), loaded };
};

/** Loads a skill that the agent may use, for its runner. @throws Refusal not_found, forbidden if the caller uses no runner key */
export const loadUsableSkill = async (ctx: Ctx, { agent_id, skill_id }: Record<'agent_id' | 'skill_id', string>): Promise<Skill.Skill> => {
  const { state: agent } = await requireRunner(ctx, agent_id);
  const { state: skill } = await ctx.load(Skill, skill_id);
  if (!mayUseSkill(agent, skill_id) || skill.status !== 'live') throw notFound();
  return skill;
};

type SkillRef = { readonly skill_id: string; readonly pointer: string };

/** Checks that each skill exists, and is visible to the caller or already the agent's. @throws Refusal invalid */
const checkSkills = async (ctx: Ctx, agent: Agent.Agent, refs: readonly SkillRef[], known: readonly string[]): Promise<void> => {
  const seesAll = await seesAllSkills(ctx);
  const skills = await loadLiveSkills(
    ctx,
    refs.map(({ skill_id }) => skill_id),
  );
  const wrong = refs.find(({ skill_id }) => {
    const skill = skills.get(skill_id);
    return !skill || !(known.includes(skill_id) || Skill.isVisible(skill, { seesAll, agent_id: agent.id }));
  });
  if (wrong) throw invalid(wrong.pointer, 'is not a skill that this agent can get', 'unknown_skill');
};

export const grantView = (agent: Agent.Agent, skill_id: string) => {
  const { is_enabled, created_at, config } = agent.skills[skill_id]!;
  return { agent_id: agent.id, skill_id, is_enabled, created_at, has_config: config !== null };
};

/**
 * If the agent already has the skill, this only enables or disables it.
 * @throws Refusal not_found if the agent does not exist, invalid if the caller may not see the skill, conflict if the agent has too many
 */
export const grantAgentSkill = async (ctx: Ctx, input: Input<typeof AgentSkillGrant, 'tenant_id' | 'agent_id'>) => {
  const { agent_id, skill_id, is_enabled } = input;
  const { state: agent } = await loadAgent(ctx, agent_id);
  await checkOnce(ctx, () => checkSkills(ctx, agent, [{ skill_id, pointer: '/skill_id' }], Object.keys(agent.skills)));
  let existed = false;
  const loaded = await ctx.transact(Agent, agent_id, (current) => {
    existed = current.skills[skill_id] !== undefined;
    return grantSkill(skill_id, is_enabled)(current);
  });
  return { ...loaded, state: grantView(loaded.state, skill_id), existed };
};

/** Also removes the configuration. @throws Refusal not_found if the agent does not have the skill, or if it is deleted */
export const revokeAgentSkill = async (ctx: Ctx, { agent_id, skill_id }: { agent_id: string; skill_id: string }) => {
  await checkOnce(ctx, async () => void (await loadAgentSkill(ctx, agent_id, skill_id)));
  return ctx.transact(Agent, agent_id, revokeSkill(skill_id));
};

/** @throws Refusal not_found if the agent does not have the skill, or the skill is deleted */
export const loadAgentSkill = async (
  ctx: Ctx,
  agent_id: string,
  skill_id: string,
): Promise<Loaded<Agent.Agent> & { readonly skill: Skill.Skill }> => {
  const agent = await loadAgent(ctx, agent_id);
  assertGranted(agent.state, skill_id);
  const { state: skill } = await ctx.load(Skill, skill_id);
  Skill.assertExists(skill);
  return { ...agent, skill };
};

/** @throws Refusal not_found if the agent does not exist, invalid if the caller may not see the skill of a new entry */
export const replaceSkillPermissions = async (
  ctx: Ctx,
  { agent_id, permissions }: Input<typeof AgentSkillPermissionUpdate, 'tenant_id' | 'agent_id'>,
) => {
  const { state: agent } = await loadAgent(ctx, agent_id);
  const refs = permissions.map(({ skill_id }, index) => ({ skill_id, pointer: `/permissions/${index}/skill_id` }));
  const known = [...Object.keys(agent.skills), ...agent.skill_permissions.map(({ skill_id }) => skill_id)];
  await checkOnce(ctx, () => checkSkills(ctx, agent, refs, known));
  return ctx.transact(Agent, agent_id, replacePermissions(permissions));
};
