import type { Held } from './delivery-fields.ts';

export const STATUSES = ['waiting', 'queued', 'running', 'held', 'done', 'dead'] as const;
export type DeliveryStatus = (typeof STATUSES)[number];

export const STATUS_DESCRIPTION =
  '`waiting`: recorded, not published yet; `queued`: published, but no runner has it; `running`: a runner has it; `held`: waits, as `held` says; `done`: acknowledged; `dead`: given up. Null if it is not for a runner (blocked or rejected). While NATS does not answer, and for a time in the past, `running` is shown as `queued`';

/** Returns why deliveries wait to an agent whose budget is used up until this time; null if it is not used up. */
export const heldByBudget = (until: string | null): Held | null =>
  until === null ? null : { reason: 'budget', rule: null, note: null, until, since: null };

/**
 * The runners of agents at the time `at`. `working` are the agents with a connected runner, which has received the
 * published messages with a sort key before `before`. `spent` are the agents whose hourly budget is used up until
 * `until`.
 */
export type AgentQueues = {
  readonly at: string;
  readonly working: readonly { readonly agent_id: string; readonly before: string }[];
  readonly spent: readonly { readonly agent_id: string; readonly until: string }[];
};

/** The last message of a delivery, if it is not settled. `retry_at` is null unless an attempt has failed. */
export type OpenMessage = { readonly message_agent_id: string; readonly place: string; readonly retry_at: string | null };

type Published = { readonly status: 'queued' | 'running' | 'held'; readonly held: Held | null };

export const publishedState = ({ message_agent_id, place, retry_at }: OpenMessage, { at, working, spent }: AgentQueues): Published => {
  const own = working.find(({ agent_id }) => agent_id === message_agent_id);
  if (own && place < own.before && (retry_at === null || retry_at <= at)) return { status: 'running', held: null };
  const budget = spent.find(({ agent_id }) => agent_id === message_agent_id);
  if (!budget) return { status: 'queued', held: null };
  return { status: 'held', held: heldByBudget(budget.until) };
};
