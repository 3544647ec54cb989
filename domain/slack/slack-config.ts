import { applyResets, changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { invalid } from '../refusal.ts';

export const category = 'slack';

export const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;

export const WHEN_CLOSED = ['block', 'hold'] as const;

/**
 * The limits of an agent in Slack: deliveries per hour and per minute, and working hours. Working hours start and end
 * at local times such as `09:00` in the time zone `working_hours_tz`. Null means that a setting is not set.
 * `when_closed` applies to deliveries outside the working hours and beyond the limits.
 */
export type SlackConfig = {
  readonly slack_rph_limit: number | null;
  readonly slack_rpm_limit: number | null;
  readonly working_hours_days: readonly (typeof WEEKDAYS)[number][] | null;
  readonly working_hours_enabled: boolean;
  readonly working_hours_start: string | null;
  readonly working_hours_end: string | null;
  readonly working_hours_tz: string | null;
  readonly when_closed: (typeof WHEN_CLOSED)[number];
};

export type SlackConfigEvent = { type: 'AgentSlackConfigChanged'; data: Partial<SlackConfig> };

/** A partial update. Null clears a setting; an absent field leaves it unchanged. */
export type SlackConfigChanges = { [Name in keyof SlackConfig]?: SlackConfig[Name] | null | undefined };

export const initial: SlackConfig = {
  slack_rph_limit: null,
  slack_rpm_limit: null,
  working_hours_days: null,
  working_hours_enabled: false,
  working_hours_start: null,
  working_hours_end: null,
  working_hours_tz: null,
  when_closed: 'block',
};

export const evolve = (config: SlackConfig, { data }: Recorded<SlackConfigEvent>): SlackConfig => ({ ...config, ...data });

/**
 * Returns the Slack settings that apply to the agent. The settings that a cloned agent has inherited apply until its
 * own settings are changed for the first time (until then, `config` is `initial`).
 */
export const settingsInEffect = (config: SlackConfig, inherited: SlackConfig | null): SlackConfig =>
  inherited !== null && config === initial ? { ...initial, ...inherited } : config;

/**
 * Returns the event of a change. If the inherited Slack settings have applied until now, the event contains them, too.
 */
const changedTo = (config: SlackConfig, current: SlackConfig, changed: Partial<SlackConfig>): SlackConfigEvent[] => {
  if (Object.keys(changed).length === 0) return [];
  return [{ type: 'AgentSlackConfigChanged', data: current === config ? changed : { ...current, ...changed } }];
};

/**
 * Changes the Slack settings of an agent. `inherited` are the Slack settings that the agent got when it was cloned;
 * null if it is not a clone.
 * @throws Refusal invalid if the working hours would not end after they start
 */
export const change =
  (changes: SlackConfigChanges, inherited: SlackConfig | null = null) =>
  (config: SlackConfig): SlackConfigEvent[] => {
    const current = settingsInEffect(config, inherited);
    const changed = changedFields(current, applyResets(changes, initial));
    const { working_hours_start: start, working_hours_end: end } = { ...current, ...changed };
    if (start !== null && end !== null && end <= start)
      throw invalid('/working_hours_end', 'must be after working_hours_start; working hours over midnight are not supported');
    return changedTo(config, current, changed);
  };

/**
 * Sets the Slack settings of an agent back to `earlier`. `inherited` are the Slack settings that the agent got when it
 * was cloned; null if it is not a clone.
 */
export const restore =
  (earlier: SlackConfig, inherited: SlackConfig | null = null) =>
  (config: SlackConfig): SlackConfigEvent[] => {
    const current = settingsInEffect(config, inherited);
    return changedTo(config, current, changedFields(current, earlier));
  };
