import { z } from 'zod';
import { requireRunner } from '../../commands/access/require-runner.ts';
import { withExposure } from '../../commands/skill-calls/skill-webhook.ts';
import { seesAllSkills } from '../../commands/skills/agent-skills.ts';
import { authorSkill, createSkill, deleteSkill, SkillCreate, SkillUpdate, updateSkill } from '../../commands/skills/skill.ts';
import * as Skill from '../../domain/skills/skill.ts';
import type { Doc } from '../../projections/read-model.ts';
import { SKILL_SORTS, skillById, skillCount, skillPage, visibilityOf } from '../../projections/skills/skill.queries.ts';
import { SkillRead, skills } from '../../projections/skills/skill.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery, listQuery, windowOf, withTotalCount } from '../http/paging.ts';

const SKILLS = '/tenant/:tenant_id/skills';
const SKILL = `${SKILLS}/:skill_id`;

const isPublic = ({ doc }: Doc): boolean => (JSON.parse(doc) as { visibility: string }).visibility === 'public';

/**
 * Returns a skill as of the context's log position. If the skill is private now, only OWNER and ADMIN can see it, even
 * if it was public at that position.
 */
const skillAsOf = async (ctx: Ctx, id: string, seesAll: boolean): Promise<Doc | null> => {
  const { state, revision } = await withExposure(ctx, await ctx.load(Skill, id));
  if (!Skill.isVisible(state, { seesAll })) return null;
  if (!seesAll && (await visibilityOf(ctx.reads, ctx.tenant, id)) === 'private') return null;
  return { doc: JSON.stringify(SkillRead.parse(state)), revision };
};

/** Returns a skill as SkillRead; null if it does not exist or the caller may not see it. */
export const readSkill = async (ctx: Ctx, id: string): Promise<Doc | null> => {
  const seesAll = await seesAllSkills(ctx);
  if (ctx.asOf) return skillAsOf(ctx, id, seesAll);
  const found = await skillById(ctx.reads, ctx.tenant, id);
  return found && (seesAll || isPublic(found)) ? found : null;
};

export const skillOperations = {
  listSkills: operation({
    method: 'get',
    path: SKILLS,
    summary: 'List the skills that the caller may see',
    details: 'OWNER and ADMIN see all skills, other members the public ones.',
    permit: 'tenant:read',
    query: listQuery({}, SKILL_SORTS),
    reply: z.array(SkillRead),
    projection: skills.name,
    run: async (ctx, window) => {
      const seesAll = await seesAllSkills(ctx);
      const filter = { tenant_id: ctx.tenant, visibility: seesAll ? undefined : 'public' };
      const page = skillPage(ctx.reads, filter, windowOf(window, SKILL_SORTS));
      return seesAll ? withTotalCount({}, page, () => skillCount(ctx.reads, ctx.tenant)) : page;
    },
  }),
  createSkill: operation({
    method: 'post',
    path: SKILLS,
    summary: 'Create a skill',
    permit: 'tenant:skills:write',
    body: SkillCreate,
    reply: SkillRead,
    status: 201,
    location: `${SKILLS}/:id`,
    run: createSkill,
  }),
  getSkill: operation({
    method: 'get',
    path: SKILL,
    summary: 'Read a skill',
    details: 'OWNER and ADMIN see all skills, other members the public ones.',
    permit: 'tenant:read',
    reply: SkillRead,
    projection: skills.name,
    aggregate: Skill,
    noConditionalGet: true,
    query: asOfQuery,
    run: (ctx, { skill_id }) => readSkill(ctx, skill_id),
  }),
  updateSkill: operation({
    method: 'patch',
    path: SKILL,
    summary: 'Update a skill',
    details: 'Absent fields stay unchanged; null clears or resets a field. A change of the content increases the version.',
    permit: 'tenant:skills:write',
    body: SkillUpdate,
    reply: SkillRead,
    run: async (ctx, input) => withExposure(ctx, await updateSkill(ctx, input)),
  }),
  deleteSkill: operation({
    method: 'delete',
    path: SKILL,
    summary: 'Delete a skill',
    details: 'Agents that have the skill can no longer use it. Its slug is free again.',
    permit: 'tenant:skills:write',
    run: deleteSkill,
  }),
  authorSkill: operation({
    method: 'post',
    path: '/tenant/:tenant_id/agents/:agent_id/skills/author',
    summary: 'Author a skill as an agent',
    details:
      'The agent needs `can_author_skills`; with the `skill_visibility_scope` `private_only` it may author only private skills. The skill is not granted to it.',
    permit: { all: ['agent:read'], runner: true },
    permissionNote: "Requires the agent's runner key.",
    preauthorize: (ctx, { agent_id }) => requireRunner(ctx, agent_id!),
    body: SkillCreate,
    reply: SkillRead,
    status: 201,
    location: `${SKILLS}/:id`,
    run: authorSkill,
  }),
};
