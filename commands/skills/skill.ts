import { z } from 'zod';
import { displayText, Slug, text } from '../../domain/fields.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Skill from '../../domain/skills/skill.ts';
import { loadAgent } from '../agents/agent.ts';
import { checkOnce } from '../check-once.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { createUnique } from '../create-unique.ts';
import { assertJsonSchema, JsonObjectField } from '../json-schema-validator.ts';

export const MAX_INSTRUCTIONS_LENGTH = 100_000;

export const Name = displayText(1, 64);
export const Description = text(1, 1024);
export const Instructions = text(1, MAX_INSTRUCTIONS_LENGTH);
const VisibilityField = z.enum(Skill.VISIBILITIES);

const FIELDS = {
  name: { description: 'What people see in lists', examples: ['Summarize pull requests'] },
  description: { description: 'What the skill does, and when to use it', examples: ['Summarizes a pull request in five sentences'] },
  visibility: { description: '`public`: every member sees it; `private`: only OWNER and ADMIN, and the agent that authored it' },
  instructions: { description: 'What the agent does with the skill', examples: ['Read the diff. Then write five sentences about it.'] },
  config_schema: {
    description: 'A JSON Schema (draft 2020-12 or draft-07) that the configuration must match; null: any object',
    examples: [{ type: 'object', properties: { token: { type: 'string' } } }],
  },
} as const;

export const SkillCreate = z
  .strictObject({
    name: Name.meta(FIELDS.name),
    slug: Slug.meta({ description: 'Unique in the tenant', examples: ['summarize-pull-requests'] }),
    description: Description.meta(FIELDS.description),
    visibility: VisibilityField.default('private').meta(FIELDS.visibility),
    instructions: Instructions.meta(FIELDS.instructions),
    config_schema: JsonObjectField.nullable().default(null).meta(FIELDS.config_schema),
  })
  .meta({
    id: 'SkillCreate',
    examples: [
      {
        name: 'Summarize pull requests',
        slug: 'summarize-pull-requests',
        description: 'Summarizes a pull request in five sentences',
        instructions: 'Read the diff. Then write five sentences about it.',
      },
    ],
  });

export const SkillUpdate = z
  .strictObject({
    name: Name.nullish().meta(FIELDS.name),
    description: Description.nullish().meta(FIELDS.description),
    visibility: VisibilityField.nullish().meta(FIELDS.visibility),
    instructions: Instructions.nullish().meta(FIELDS.instructions),
    config_schema: JsonObjectField.nullish().meta(FIELDS.config_schema),
  })
  .meta({ id: 'SkillUpdate', examples: [{ visibility: 'public' }] });

/** @throws Refusal slug_taken */
export const claimSlug = (ctx: Ctx, first: Skill.FirstEvent): Promise<Loaded<Skill.Skill>> =>
  createUnique(ctx, Skill, {
    kind: 'skill',
    key: first.data.slug,
    claim: (generation) => Skill.claim(first, generation),
    isClosed: ({ status }) => status === 'deleted',
  });

/** @throws Refusal slug_taken, invalid */
export const createSkill = async (ctx: Ctx, { tenant_id: _, ...fields }: Input<typeof SkillCreate, 'tenant_id'>) => {
  assertJsonSchema(ctx.checks, '/config_schema', fields.config_schema);
  return claimSlug(ctx, { type: 'SkillCreated', data: fields });
};

/** Absent fields do not change. @throws Refusal not_found, invalid */
export const updateSkill = async (
  ctx: Ctx,
  { tenant_id: _, skill_id, ...changes }: Input<typeof SkillUpdate, 'tenant_id' | 'skill_id'>,
): Promise<Loaded<Skill.Skill>> => {
  Skill.assertExists((await ctx.load(Skill, skill_id)).state);
  assertJsonSchema(ctx.checks, '/config_schema', changes.config_schema);
  return ctx.transact(Skill, skill_id, Skill.update(changes));
};

/** @throws Refusal not_found */
export const deleteSkill = (ctx: Ctx, { skill_id }: { skill_id: string }) => ctx.transact(Skill, skill_id, Skill.remove);

/** @throws Refusal forbidden if the agent may not author a skill of this visibility */
const checkAuthor = async (ctx: Ctx, agent_id: string, visibility: Skill.Visibility): Promise<void> => {
  const { state: agent } = await loadAgent(ctx, agent_id);
  if (!agent.can_author_skills) throw new Refusal('forbidden', 'The agent may not author skills: can_author_skills is false');
  if (visibility === 'public' && agent.skill_visibility_scope === 'private_only')
    throw new Refusal('forbidden', 'The agent may author only private skills: its skill_visibility_scope is private_only');
};

/** The route has checked the agent's runner. @throws Refusal forbidden if the agent may not write such a skill, slug_taken, invalid */
export const authorSkill = async (ctx: Ctx, input: Input<typeof SkillCreate, 'tenant_id' | 'agent_id'>): Promise<Loaded<Skill.Skill>> => {
  const { tenant_id: _, agent_id, ...fields } = input;
  await checkOnce(ctx, () => checkAuthor(ctx, agent_id, fields.visibility));
  assertJsonSchema(ctx.checks, '/config_schema', fields.config_schema);
  return claimSlug(ctx, { type: 'SkillAuthored', data: { ...fields, author_agent_id: agent_id } });
};
