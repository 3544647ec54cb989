import { type Agent, type AgentEvent, assertExists } from '../agents/agent.ts';
import type { SkillPermissionEntry } from '../agents/skill-grants.ts';
import { jsonEqual } from '../aggregate.ts';
import { omit } from '../omit.ts';
import { invalid, Refusal } from '../refusal.ts';

/** The maximum number of skills of an agent, and of entries in its permissions on skills. */
export const MAX_SKILLS = 500;

const noSuchSkill = (): Refusal => new Refusal('not_found', 'The agent does not have this skill');

/** @throws Refusal not_found if the agent does not have the skill */
export const assertGranted = (agent: Agent, skill_id: string): void => {
  assertExists(agent);
  if (!agent.skills[skill_id]) throw noSuchSkill();
};

/** Also enables or disables a skill that the agent has. @throws Refusal not_found, conflict at MAX_SKILLS */
export const grantSkill =
  (skill_id: string, is_enabled: boolean) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    const granted = agent.skills[skill_id];
    if (granted?.is_enabled === is_enabled) return [];
    if (!granted && Object.keys(agent.skills).length >= MAX_SKILLS)
      throw new Refusal('conflict', `The agent already has ${MAX_SKILLS} skills`);
    return [{ type: 'AgentSkillGranted', data: { skill_id, is_enabled } }];
  };

/** Removes its configuration, too. @throws Refusal not_found if the agent does not have it */
export const revokeSkill =
  (skill_id: string) =>
  (agent: Agent): AgentEvent[] => {
    assertGranted(agent, skill_id);
    return [{ type: 'AgentSkillRevoked', data: { skill_id } }];
  };

/**
 * `unchanged`: the revision of an earlier event with an equal configuration, if known; if that is still the present one, nothing is
 * recorded.
 * @throws Refusal not_found if the agent does not have the skill
 */
export const replaceConfig =
  (skill_id: string, sealed_config: string, unchanged: number | null = null) =>
  (agent: Agent): AgentEvent[] => {
    assertGranted(agent, skill_id);
    if (unchanged !== null && agent.skills[skill_id]!.config?.revision === unchanged) return [];
    return [{ type: 'AgentSkillConfigReplaced', data: { skill_id, sealed_config } }];
  };

/** Encrypts the same configuration with another data key. Does nothing unless the present one is that of `revision`. */
export const resealConfig =
  (skill_id: string, sealed_config: string, revision: number) =>
  ({ skills }: Agent): AgentEvent[] =>
    skills[skill_id]?.config?.revision === revision ? [{ type: 'AgentSkillConfigResealed', data: { skill_id, sealed_config } }] : [];

/** @throws Refusal not_found if the agent does not have the skill */
export const clearConfig =
  (skill_id: string) =>
  (agent: Agent): AgentEvent[] => {
    assertGranted(agent, skill_id);
    return agent.skills[skill_id]!.config ? [{ type: 'AgentSkillConfigCleared', data: { skill_id } }] : [];
  };

type Wanted = Omit<SkillPermissionEntry, 'since'>;

/** An entry that was there before keeps its date. @throws Refusal not_found, invalid if a skill and action occur twice */
export const replacePermissions =
  (permissions: readonly Wanted[]) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    const twice = permissions.findIndex(({ skill_id }, index) => permissions.findIndex((one) => one.skill_id === skill_id) < index);
    if (twice >= 0) throw invalid(`/permissions/${twice}`, 'must not contain the same skill twice', 'duplicate');
    const withoutDates = agent.skill_permissions.map((permission) => omit(permission, 'created_at'));
    const wanted = permissions.map(({ skill_id, action, allowed }) => ({ skill_id, action, allowed }));
    if (jsonEqual(wanted, withoutDates)) return [];
    const sinceOf = ({ skill_id, allowed }: Wanted): string | null => {
      const known = agent.skill_permissions.find((one) => one.skill_id === skill_id && one.allowed === allowed);
      return known?.created_at ?? null;
    };
    return [{ type: 'AgentSkillPermissionsReplaced', data: { permissions: wanted.map((one) => ({ ...one, since: sinceOf(one) })) } }];
  };

/** The agent has the skill, it is enabled, and no permission forbids it. */
export const mayUse = ({ skills, skill_permissions }: Agent, skill_id: string): boolean =>
  skills[skill_id]?.is_enabled === true && !skill_permissions.some((one) => one.skill_id === skill_id && !one.allowed);
