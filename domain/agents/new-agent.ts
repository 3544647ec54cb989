import { z } from 'zod';
import type { Recorded } from '../event.ts';
import { omit } from '../omit.ts';
import type { SlackConfig } from '../slack/slack-config.ts';
import { type AgentModel, type ChainLink, modelsOf } from './model-chain.ts';
import { type PlainSettings, plainDefaults } from './plain-settings.ts';
import type { AgentSkills, SkillPermissionEntry } from './skill-grants.ts';
import type { AgentTools } from './tool-grants.ts';

export const AGENT_KINDS = ['user', 'coding', 'analyst', 'dba'] as const;
export const SKILL_VISIBILITY_SCOPES = ['private_only', 'tenant_allowed'] as const;
export type SkillVisibilityScope = (typeof SKILL_VISIBILITY_SCOPES)[number];

const NAME = /^[\p{L}\p{M}\p{N} -]{1,255}$/u;

/** Names the first character that a name may not contain. */
const nameFault = (name: string): string => {
  const [character] = /[^\p{L}\p{M}\p{N} -]/u.exec(name) ?? [];
  const rule = 'must be 1 to 255 letters, digits, spaces and hyphens';
  return character === undefined ? rule : `${rule}: ${JSON.stringify(character)} is none of them`;
};

/** Letters and digits of every script, normalized, so that names that look equal are equal. */
export const AgentName = z
  .string()
  .regex(NAME, { error: ({ input }) => nameFault(String(input)) })
  // No language needs more combining marks (such as accents) in a row.
  .refine((name) => !/\p{M}{9}/u.test(name), 'must not contain more than 8 combining marks in a row')
  .overwrite((name) => name.normalize('NFC'));

/** The field names are those of the API. */
export type AgentSettings = PlainSettings & {
  name: string;
  can_author_skills: boolean;
  is_admin_only: boolean;
  kind: (typeof AGENT_KINDS)[number];
};

export const defaults = {
  ...plainDefaults,
  can_author_skills: false,
  is_admin_only: false,
  kind: 'user',
} as const satisfies Omit<AgentSettings, 'name'>;

type CreatedAgent = AgentSettings & {
  slug: string;
  generation: number;
  owner_id: string | null;
  skill_visibility_scope: SkillVisibilityScope;
  is_seed: boolean;
};

/** `source_revision` is the revision of the cloned agent when it was cloned. */
export type ClonedAgent = Omit<AgentSettings, 'can_author_skills'> & {
  slug: string;
  generation: number;
  owner_id: string | null;
  skill_visibility_scope: SkillVisibilityScope;
  external_mail_enabled: boolean;
  repo_url: string | null;
  code_ref: string;
  hourly_limit_micros: number | null;
  source_id: string;
  source_revision: number;
  models: readonly ChainLink[];
  skills: readonly { skill_id: string; is_enabled: boolean }[];
  skill_permissions: readonly SkillPermissionEntry[];
  tools: readonly { tool_id: string; is_enabled: boolean; configuration: Readonly<Record<string, unknown>> }[];
  slack_config: SlackConfig;
};

export type FirstEvent = { type: 'AgentCreated'; data: CreatedAgent } | { type: 'AgentCloned'; data: ClonedAgent };

type FirstSettings = Omit<CreatedAgent | ClonedAgent, 'owner_id' | 'generation' | 'source_id' | 'source_revision' | keyof ClonedParts> &
  Partial<ClonedParts>;
type ClonedParts = AgentSkills & AgentTools & { models: readonly AgentModel[]; inherited_slack_config: SlackConfig };

export const settingsOf = ({ type, data, at }: Recorded<FirstEvent>): FirstSettings => {
  if (type === 'AgentCreated') {
    const settings = omit(data, 'owner_id', 'generation');
    return settings;
  }
  const copied = omit(data, 'owner_id', 'generation', 'source_id', 'source_revision');
  const { models, skills, skill_permissions, tools, slack_config, ...settings } = copied;
  return {
    ...settings,
    models: modelsOf(models, at),
    skills: Object.fromEntries(skills.map(({ skill_id, is_enabled }) => [skill_id, { is_enabled, created_at: at, config: null }])),
    skill_permissions: skill_permissions.map(({ since, ...permission }) => ({ ...permission, created_at: since ?? at })),
    tools: Object.fromEntries(tools.map(({ tool_id, ...grant }) => [tool_id, { ...grant, created_at: at, updated_at: at }])),
    inherited_slack_config: slack_config,
  };
};
