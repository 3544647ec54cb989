import { seesAllSkills } from '../../commands/skills/agent-skills.ts';
import * as Skill from '../../domain/skills/skill.ts';
import { SkillRead } from '../../projections/skills/skill.ts';
import { type HistorySubject, historyOperationsOf } from '../http/resource-history.ts';

/**
 * What the history of a skill shows. OWNER and ADMIN see all of it, even of a deleted skill. Other members see the
 * history of a public skill, but not its content at times when it was private.
 */
export const skillHistory = {
  aggregate: Skill,
  path: '/tenant/:tenant_id/skills/:skill_id',
  permit: 'tenant:read',
  noun: 'skill',
  fieldsOf: (skill) => ({ ...SkillRead.parse(skill), deleted: skill.status === 'deleted' }),
  readableStates: async (ctx) => {
    const seesAll = await seesAllSkills(ctx);
    return (skill) => seesAll || Skill.isVisible(skill, { seesAll });
  },
} as const satisfies HistorySubject<Skill.Skill, Skill.SkillEvent>;

export const skillHistoryOperations = historyOperationsOf('Skill', skillHistory);
