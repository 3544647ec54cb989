import { applyResets, changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { invalid } from '../refusal.ts';

export const category = 'slack';

export const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;

export const WHEN_CLOSED = ['block', 'hold'] as const;

/**
 * Per agent: deliveries per hour and per minute, and working hours from and to local times such as `09:00` in `working_hours_tz`. Null:
 * not set. `when_closed` applies outside the working hours and beyond the limits.
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

/** Null clears a setting; an absent field leaves it unchanged. */
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

/** What a clone has inherited applies until its own settings are first changed (until then, `config` is `initial`). */
export const settingsInEffect = (config: SlackConfig, inherited: SlackConfig | null): SlackConfig =>
  inherited !== null && config === initial ? { ...initial, ...inherited } : config;

/** Contains the inherited settings, too, if they have applied until now. */
const changedTo = (config: SlackConfig, current: SlackConfig, changed: Partial<SlackConfig>): SlackConfigEvent[] => {
  if (Object.keys(changed).length === 0) return [];
  return [{ type: 'AgentSlackConfigChanged', data: current === config ? changed : { ...current, ...changed } }];
};

/**
 * `inherited`: what the agent got when it was cloned; null if it is not a clone. @throws Refusal invalid if working hours end before they
 * start
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

/** `inherited`: what the agent got when it was cloned; null if it is not a clone. */
export const restore =
  (earlier: SlackConfig, inherited: SlackConfig | null = null) =>
  (config: SlackConfig): SlackConfigEvent[] => {
    const current = settingsInEffect(config, inherited);
    return changedTo(config, current, changedFields(current, earlier));
  };
