import type { Held } from './delivery-fields.ts';

export const STATUSES = ['waiting', 'queued', 'running', 'held', 'done', 'dead'] as const;
export type DeliveryStatus = (typeof STATUSES)[number];

export const STATUS_DESCRIPTION =
  '`waiting`: recorded, not published yet; `queued`: published, but no runner has it; `running`: a runner has it; `held`: waits, as `held` says; `done`: acknowledged; `dead`: given up. Null if it is not for a runner (blocked or rejected). While NATS does not answer, and for a time in the past, `running` is shown as `queued`';

/** What a delivery can be in: the words of its status, and those of its outcome, as one. */
export const STATES = ['waiting', 'queued', 'running', 'retrying', 'held', 'acknowledged', 'dead', 'blocked', 'rejected'] as const;
export type DeliveryState = (typeof STATES)[number];

export const STATE_DESCRIPTION =
  '`waiting`: recorded, not published yet; `queued`: published, but no runner has taken it; `running`: a runner has it; `retrying`: an attempt has failed, and the next one is at `next_attempt_at`, or is due or running if this is null; `held`: waits, as `held` says; `acknowledged`: processed; `dead`: given up; `blocked`: stopped by a rule; `rejected`: not verified. While NATS does not answer, and for a time in the past, `running` is shown as `queued`';

/** Returns the state of a delivery whose message is not published, or settled, or whose status is complete. */
export const stateOf = ({ outcome, status }: { readonly outcome: string; readonly status: DeliveryStatus | null }): DeliveryState => {
  if (outcome !== 'accepted') return outcome as DeliveryState;
  return status === 'done' || status === null ? 'acknowledged' : status;
};

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

type Published = {
  readonly status: 'queued' | 'running' | 'held';
  readonly state: DeliveryState;
  readonly held: Held | null;
  /** The future time of the next attempt if the state is `retrying`; null in other states, and once the attempt is due. */
  readonly next_attempt_at: string | null;
};

export const publishedState = ({ message_agent_id, place, retry_at }: OpenMessage, { at, working, spent }: AgentQueues): Published => {
  const own = working.find(({ agent_id }) => agent_id === message_agent_id);
  const isDue = retry_at === null || retry_at <= at;
  const isWithRunner = own !== undefined && place < own.before && isDue;
  const budget = isWithRunner ? undefined : spent.find(({ agent_id }) => agent_id === message_agent_id);
  if (budget) return { status: 'held', state: 'held', held: heldByBudget(budget.until), next_attempt_at: null };
  const status = isWithRunner ? 'running' : 'queued';
  return { status, state: retry_at === null ? status : 'retrying', held: null, next_attempt_at: isDue ? null : retry_at };
};
