import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry, withoutEntry } from '../immutable-record.ts';

/**
 * `config` names the event with the encrypted configuration, and its time; null if there is none. The configuration is not part of the
 * state, because most code that loads an agent does not need it.
 */
export type GrantedSkill = {
  readonly is_enabled: boolean;
  readonly created_at: string;
  readonly config: { readonly revision: number; readonly at: string } | null;
};

/** A skill without an entry is allowed. */
export type SkillPermission = { readonly skill_id: string; readonly action: 'use'; readonly allowed: boolean; readonly created_at: string };

/** `since`: when the permission was set; null if this event sets it. */
export type SkillPermissionEntry = Omit<SkillPermission, 'created_at'> & { readonly since: string | null };

export type AgentSkillEvent =
  | { type: 'AgentSkillGranted'; data: { skill_id: string; is_enabled: boolean } }
  | { type: 'AgentSkillRevoked'; data: { skill_id: string } }
  | { type: 'AgentSkillConfigReplaced'; data: { skill_id: string; sealed_config: string } }
  | { type: 'AgentSkillConfigResealed'; data: { skill_id: string; sealed_config: string } }
  | { type: 'AgentSkillConfigCleared'; data: { skill_id: string } }
  | { type: 'AgentSkillPermissionsReplaced'; data: { permissions: readonly SkillPermissionEntry[] } };

export type AgentSkills = { readonly skills: ById<GrantedSkill>; readonly skill_permissions: readonly SkillPermission[] };

export const noSkills: AgentSkills = { skills: {}, skill_permissions: [] };

const withConfig = (skills: AgentSkills['skills'], skill_id: string, config: GrantedSkill['config'], transient?: Transient) => {
  const granted = skills[skill_id];
  return granted ? withEntry(skills, skill_id, { ...granted, config }, transient) : skills;
};

export const applySkillEvent = (
  { skills }: AgentSkills,
  { type, data, at, revision }: Recorded<AgentSkillEvent>,
  transient?: Transient,
): Partial<AgentSkills> => {
  switch (type) {
    case 'AgentSkillGranted': {
      const { created_at = at, config = null } = skills[data.skill_id] ?? {};
      return { skills: withEntry(skills, data.skill_id, { is_enabled: data.is_enabled, created_at, config }, transient) };
    }
    case 'AgentSkillRevoked':
      return { skills: withoutEntry(skills, data.skill_id, transient) };
    case 'AgentSkillConfigReplaced':
      return { skills: withConfig(skills, data.skill_id, { revision, at }, transient) };
    case 'AgentSkillConfigResealed':
      return { skills: withConfig(skills, data.skill_id, { revision, at: skills[data.skill_id]?.config?.at ?? at }, transient) };
    case 'AgentSkillConfigCleared':
      return { skills: withConfig(skills, data.skill_id, null, transient) };
    case 'AgentSkillPermissionsReplaced':
      return { skill_permissions: data.permissions.map(({ since, ...permission }) => ({ ...permission, created_at: since ?? at })) };
  }
};
