import type { Area } from '../area.ts';
import { agentSkillOperations } from './agent-skills.ts';
import { skillOperations } from './skill.ts';
import { skillHistoryOperations } from './skill-history.ts';
import { skillImport } from './skill-import.ts';
import { skillPackages } from './skill-package.ts';

export const skillsArea = {
  title: 'Skills',
  description: 'Instructions that agents follow for a task, which agents have them, and how they are configured.',
  operations: () => ({ ...skillOperations, ...skillHistoryOperations, ...agentSkillOperations }),
  plainRoutes: [skillImport, skillPackages],
} satisfies Area;
