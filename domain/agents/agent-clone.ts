import { omit } from '../omit.ts';
import { invalid } from '../refusal.ts';
import type { SlackConfig } from '../slack/slack-config.ts';
import { type Agent, type AgentEvent, assertExists } from './agent.ts';
import { plainSettingsOf } from './plain-settings.ts';

/** @throws Refusal not_found, invalid if the name is that of the source */
export const assertCloneable = (source: Agent, name: string): void => {
  assertExists(source);
  if (name === source.name) throw invalid('/name', 'must differ from the name of the agent that is cloned', 'same_name');
};

/** `source_revision` is the revision at which the source is cloned. */
type CloneIdentity = {
  readonly name: string;
  readonly slug: string;
  readonly generation: number;
  readonly owner_id: string | null;
  readonly source_revision: number;
};

/** The Slack settings that apply to the source, and the ids of the skills that the clone may have. */
type Extras = { readonly slack_config: SlackConfig; readonly skill_ids: ReadonlySet<string> };

/**
 * Lists each field that is not a plain setting, so that a field that is added to agents later is not copied by mistake. Never copied: secrets
 * (also configurations of skills), roles, grants.
 */
export const clone =
  (source: Agent, { slack_config, skill_ids }: Extras, identity: CloneIdentity) =>
  (): AgentEvent[] => {
    const { kind, is_admin_only, skill_visibility_scope, external_mail_enabled } = source;
    const { repo_url, code_ref, hourly_limit_micros } = source;
    const models = source.models.map(({ model_id, access }) => ({ model_id, access, since: null }));
    const skills = Object.entries(source.skills).map(([skill_id, { is_enabled }]) => ({ skill_id, is_enabled }));
    const skill_permissions = source.skill_permissions.map((permission) => ({ ...omit(permission, 'created_at'), since: null }));
    const tools = Object.entries(source.tools).map(([tool_id, { is_enabled, configuration }]) => ({ tool_id, is_enabled, configuration }));
    const data = {
      ...identity,
      source_id: source.id,
      ...plainSettingsOf(source),
      kind,
      is_admin_only,
      skill_visibility_scope,
      external_mail_enabled,
      repo_url,
      code_ref,
      hourly_limit_micros,
      models,
      skills: skills.filter(({ skill_id }) => skill_ids.has(skill_id)),
      skill_permissions,
      tools,
      slack_config,
    };
    return [{ type: 'AgentCloned', data }];
  };

const MAX_SLUG_LENGTH = 64;

const cut = (slug: string, length: number): string => slug.slice(0, length).replace(/-+$/, '');

export const slugOf = (name: string): string => {
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? ['agent'];
  return cut(words.join('-'), MAX_SLUG_LENGTH);
};

/** If the result would be too long, the slug is cut before the suffix. */
export const withSuffix = (slug: string, suffix: string): string => `${cut(slug, MAX_SLUG_LENGTH - suffix.length - 1)}-${suffix}`;
