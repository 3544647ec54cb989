import * as Skill from '../../domain/skills/skill.ts';
import { type AuditOf, allFields } from '../audit-record.ts';
import type { Row } from '../projection.ts';

const newSkill = ({ generation: _, ...fields }: { readonly generation: number }): Row => ({
  version: Skill.initial.version,
  ...fields,
  deleted: false,
});

export const skillAudit = {
  SkillCreated: { summary: 'created the skill {resource}', activity: 'create', first: true, fields: newSkill },
  SkillAuthored: { summary: 'authored the skill {resource}', activity: 'create', first: true, fields: newSkill },
  SkillImported: { summary: 'imported the skill {resource}', activity: 'create', first: true, fields: newSkill },
  SkillInstalled: { summary: 'installed the skill {resource} from the marketplace', activity: 'create', first: true, fields: newSkill },
  SkillUpdated: { summary: 'changed {fields} of the skill {resource}', activity: 'update', fields: allFields },
  SkillDeleted: { summary: 'deleted the skill {resource}', activity: 'delete', severity: 'low', fields: () => ({ deleted: true }) },
} satisfies AuditOf<Skill.SkillEvent>;
