import { applyResets, changedFields } from '../aggregate.ts';
import { Refusal } from '../refusal.ts';
import {
  type Agent,
  type AgentEvent,
  type AgentSettings,
  assertExists,
  type Budget,
  defaults,
  type SkillVisibilityScope,
} from './agent.ts';

/** Null clears a field that can be empty, and resets one with a default; for other fields, null means no change. */
export type AgentChanges = {
  [Name in keyof Omit<AgentSettings, 'kind'> | 'external_mail_enabled' | 'is_active' | 'ssh_public_key']?: Agent[Name] | null | undefined;
};

const resetValues = { ...defaults, external_mail_enabled: true, ssh_public_key: null };

/**
 * `mayManageRoles`: whether the caller has agent:roles:write.
 * @throws Refusal not_found, forbidden if can_author_skills or is_admin_only would change without it
 */
export const update =
  (changes: AgentChanges, mayManageRoles: boolean) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    const { is_active, can_author_skills, is_admin_only, ...settings } = changedFields(agent, applyResets(changes, resetValues));
    const changesGuarded = can_author_skills !== undefined || is_admin_only !== undefined;
    if (changesGuarded && !mayManageRoles)
      throw new Refusal('forbidden', 'Changing can_author_skills or is_admin_only needs the permission agent:roles:write');
    const events: AgentEvent[] = [];
    if (Object.keys(settings).length > 0) events.push({ type: 'AgentUpdated', data: settings });
    if (is_active !== undefined) events.push({ type: is_active ? 'AgentActivated' : 'AgentDeactivated', data: {} });
    if (can_author_skills !== undefined) events.push({ type: 'AgentSkillAuthoringChanged', data: { can_author_skills } });
    if (is_admin_only !== undefined) events.push({ type: 'AgentAdminOnlyChanged', data: { is_admin_only } });
    return events;
  };

/** Visible to this agent only, or to the tenant. @throws Refusal not_found if the agent does not exist */
export const changeSkillVisibility =
  (skill_visibility_scope: SkillVisibilityScope) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (agent.skill_visibility_scope === skill_visibility_scope) return [];
    return [{ type: 'AgentSkillVisibilityScopeChanged', data: { skill_visibility_scope } }];
  };

/** The amount per hour; null removes the limit. @throws Refusal not_found if the agent does not exist */
export const changeBudget =
  ({ hourly_limit_micros }: Budget) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    return agent.hourly_limit_micros === hourly_limit_micros ? [] : [{ type: 'AgentBudgetChanged', data: { hourly_limit_micros } }];
  };
