import { WORKING_HOURS_RULE } from '../../domain/deliveries/held-kind.ts';
import { type BlockReason, block, hold, pass } from '../../domain/guardrails/guardrail.ts';
import type { RateRule, RuleSet } from '../../domain/guardrails/rule-set.ts';
import type { RateLimit } from '../../domain/guardrails/sliding-window.ts';
import type { SlackConfig } from '../../domain/slack/slack-config.ts';
import { isWorkingTime, nextWorkingTime } from '../../domain/slack/working-hours.ts';
import type { GuardedDelivery, Progress } from './guarded-delivery.ts';
import type { GuardrailPort } from './webhook-ports.ts';

/** `rule`: the check that blocks or holds. */
type Check = { readonly rule: string; readonly reason: BlockReason };
type DeliveryLimit = Check & { readonly limit: RateLimit; readonly action: 'block' | 'hold' };

const noteOf = ({ max, windowMs }: RateLimit): string => `the limit of ${max} in ${windowMs / 1_000} s is reached`;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

const WORKING_HOURS: Check = { rule: WORKING_HOURS_RULE, reason: 'outside_working_hours' };
const CLOSED = 'outside the working hours of the agent';

const slackLimits = (config: SlackConfig, agent_id: string): DeliveryLimit[] => {
  const limitOf = (rule: 'slack_rpm_limit' | 'slack_rph_limit', windowMs: number): DeliveryLimit[] => {
    const max = config[rule];
    return max === null ? [] : [{ rule, reason: rule, action: config.when_closed, limit: { key: `${rule} ${agent_id}`, max, windowMs } }];
  };
  return [...limitOf('slack_rpm_limit', MINUTE_MS), ...limitOf('slack_rph_limit', HOUR_MS)];
};

const limitsWith = (rates: readonly RateRule[], action: 'block' | 'hold'): DeliveryLimit[] =>
  rates.filter((rate) => rate.action === action).map(({ name, limit }) => ({ limit, rule: name, reason: 'rate', action }));

/** Returns the limits, first those that block. `slack`: the agent's settings; null if the delivery is not from Slack. */
export const limitsOf = ({ rates }: Pick<RuleSet, 'rates'>, slack: SlackConfig | null, agent_id: string): DeliveryLimit[] => [
  ...limitsWith(rates, 'block'),
  ...limitsWith(rates, 'hold'),
  ...(slack ? slackLimits(slack, agent_id) : []),
];

const holdDelivery = (progress: Progress, { rule, reason }: Check, note: string, until: string | null = null): void => {
  progress.verdicts.push(hold(rule, note));
  progress.reason = reason;
  progress.held = { until };
};

const blockDelivery = (progress: Progress, { rule, reason }: Check, note: string): void => {
  progress.verdicts.push(block(rule, note));
  progress.reason = reason;
};

const applyClosed = (progress: Progress, slack: SlackConfig, at: number): void => {
  if (slack.when_closed === 'block') {
    blockDelivery(progress, WORKING_HOURS, CLOSED);
    return;
  }
  const opensAt = nextWorkingTime(slack, at);
  holdDelivery(progress, WORKING_HOURS, CLOSED, opensAt === null ? null : new Date(opensAt).toISOString());
};

/** Holds a delivery while earlier ones of its source are held, so that all continue in the order of their receipt. @returns whether it is held */
const holdBehindOthers = async (
  port: GuardrailPort,
  progress: Progress,
  { tenant_id, id }: GuardedDelivery['integration'],
  first: Check | undefined,
): Promise<boolean> => {
  if (!first || !(await port.hasHeld(tenant_id, id))) return false;
  holdDelivery(progress, { ...first, reason: 'earlier_held' }, 'earlier deliveries are held');
  return true;
};

/** Blocks or holds the delivery if a limit is reached. */
const takeLimits = async (port: GuardrailPort, progress: Progress, delivery: GuardedDelivery, limits: readonly DeliveryLimit[]) => {
  const { integration, receivedAt } = delivery;
  const counted = limits.map(({ limit }) => limit);
  const reached = await port.takeRates(integration.tenant_id, counted, receivedAt);
  for (const [index, one] of limits.entries()) {
    if (index !== reached) {
      progress.verdicts.push(pass(one.rule));
      continue;
    }
    const note = noteOf(one.limit);
    if (one.action === 'block') return blockDelivery(progress, one, note);
    return holdDelivery(progress, one, note, port.roomAt(integration.tenant_id, one.limit, receivedAt));
  }
};

/** Blocks, holds or labels the delivery if a limit is reached. Counts only deliveries that reach the agent. */
export const applyRates = async (port: GuardrailPort, progress: Progress, set: RuleSet, delivery: GuardedDelivery): Promise<void> => {
  const { integration, receivedAt } = delivery;
  const { tenant_id, agent_id, provider } = integration;
  const slack = provider === 'slack' ? await port.slackConfig(tenant_id, agent_id) : null;
  if (slack && !isWorkingTime(slack, Date.parse(receivedAt))) return applyClosed(progress, slack, Date.parse(receivedAt));
  const limits = limitsOf(set, slack, agent_id);
  const holding = limits.find(({ action }) => action === 'hold') ?? (slack?.when_closed === 'hold' ? WORKING_HOURS : undefined);
  if (await holdBehindOthers(port, progress, integration, holding)) return;
  if (limits.length > 0) await takeLimits(port, progress, delivery, limits);
  if (progress.reason) return;
  for (const { name, action, limit } of set.rates) {
    if (action !== 'label') continue;
    const isReached = (await port.takeRates(tenant_id, [limit], receivedAt)) !== null;
    progress.verdicts.push(isReached ? { rule: name, verdict: 'label', note: noteOf(limit) } : pass(name));
  }
};
