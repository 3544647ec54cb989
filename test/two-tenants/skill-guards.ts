import { type Mutant, mutant, mutantSeenBy } from './guard.ts';

const SKILL_TEST = 'skills/skill.api.test.ts';

/**
 * Changed copies of the code (mutants). Each copy lacks one check (guard) that protects skills and their
 * configurations. The name of a mutant says what is possible without the check.
 */
export const SKILL_GUARDS: readonly Mutant[] = [
  mutant(
    "skills: the list shows every tenant's",
    'projections/skills/skill.queries.ts',
    ".where('skill.tenant_id', '=', tenant_id)\n    ",
    '',
  ),
  mutant(
    'skills: the list shows members private skills',
    'api/skills/skill.ts',
    "visibility: seesAll ? undefined : 'public'",
    'visibility: undefined',
  ),
  mutant('skills: a member reads a private skill', 'api/skills/skill.ts', 'found && (seesAll || isPublic(found)) ? found : null', 'found'),
  mutantSeenBy(
    SKILL_TEST,
    'skills: a member reads as of an earlier time a skill that is private now',
    'api/skills/skill.ts',
    "if (!seesAll && (await visibilityOf(ctx.reads, ctx.tenant, id)) === 'private') return null;",
    '',
  ),
  mutant(
    'skills: a manager gives an agent a private skill',
    'commands/skills/agent-skills.ts',
    'return !skill || !(known.includes(skill_id) || Skill.isVisible(skill, { seesAll, agent_id: agent.id }));',
    'return !skill;',
  ),
  mutant(
    'skills: a user authors skills as an agent',
    'commands/access/require-runner.ts',
    `if (ctx.principal.kind !== 'runner') throw new Refusal('forbidden', "This needs the agent's runner key");`,
    '',
  ),
  mutantSeenBy(
    SKILL_TEST,
    'skills: an agent authors skills without can_author_skills',
    'commands/skills/skill.ts',
    "if (!agent.can_author_skills) throw new Refusal('forbidden', 'The agent may not author skills: can_author_skills is false');",
    '',
  ),
  mutantSeenBy(
    SKILL_TEST,
    'skills: an agent authors public skills with the scope private_only',
    'commands/skills/skill.ts',
    "if (visibility === 'public' && agent.skill_visibility_scope === 'private_only')",
    'if (false)',
  ),
  mutantSeenBy(
    'runners/own-agent.api.test.ts',
    'skills: a runner fetches archives of skills that its agent may not use',
    'commands/skills/agent-skills.ts',
    "if (!mayUseSkill(agent, skill_id) || skill.status !== 'live') throw notFound();",
    "if (skill.status !== 'live') throw notFound();",
  ),
  mutant(
    'skills: a viewer reads a configuration',
    'api/skills/agent-skills.ts',
    "permit: { all: ['agent:skills:write'], recentSignIn: true },",
    "permit: { all: ['agent:read'], recentSignIn: true },",
  ),
];
