import { applyResets, changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { invalid } from '../refusal.ts';

export const category = 'slack';

export const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;

/**
 * The limits that an agent has in Slack: deliveries per hour and per minute, and its working hours. Start and end are
 * local times such as `09:00` in the zone `working_hours_tz`. Null means that a limit or setting is not set.
 */
export type SlackConfig = {
  readonly slack_rph_limit: number | null;
  readonly slack_rpm_limit: number | null;
  readonly working_hours_days: readonly (typeof WEEKDAYS)[number][] | null;
  readonly working_hours_enabled: boolean;
  readonly working_hours_start: string | null;
  readonly working_hours_end: string | null;
  readonly working_hours_tz: string | null;
};

export type SlackConfigEvent = { type: 'AgentSlackConfigChanged'; data: Partial<SlackConfig> };

/** A partial update: an absent field stays unchanged, null clears the setting. */
export type SlackConfigChanges = { [Name in keyof SlackConfig]?: SlackConfig[Name] | null | undefined };

export const initial: SlackConfig = {
  slack_rph_limit: null,
  slack_rpm_limit: null,
  working_hours_days: null,
  working_hours_enabled: false,
  working_hours_start: null,
  working_hours_end: null,
  working_hours_tz: null,
};

export const evolve = (config: SlackConfig, { data }: Recorded<SlackConfigEvent>): SlackConfig => ({ ...config, ...data });

/**
 * Changes the Slack settings of an agent.
 * @throws Refusal invalid if the working hours would not end after they start
 */
export const change =
  (changes: SlackConfigChanges) =>
  (config: SlackConfig): SlackConfigEvent[] => {
    const changed = changedFields(config, applyResets(changes, initial));
    const { working_hours_start: start, working_hours_end: end } = { ...config, ...changed };
    if (start !== null && end !== null && end <= start)
      throw invalid('/working_hours_end', 'must be after working_hours_start; working hours over midnight are not supported');
    return Object.keys(changed).length > 0 ? [{ type: 'AgentSlackConfigChanged', data: changed }] : [];
  };
