import * as Agent from '../../domain/agents/agent.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import type { Actor, Recorded } from '../../domain/event.ts';
import type * as Session from '../../domain/sessions/session.ts';
import type { ReactorCtx } from '../context.ts';

export const countedEventTypes = ['UsageRecorded', 'AgentBudgetChanged', 'AgentRestored'] as const;

export type CountedEvent = Recorded<Extract<Session.SessionEvent | Agent.AgentEvent, { type: (typeof countedEventTypes)[number] }>>;

export const BUDGET_COUNTER: Actor = { kind: 'system', id: 'budgets' };

/** Costs by session. `pending`: sessions whose costs have changed and are not recorded; `isDue`: anything must be recorded. */
type AgentHour = {
  readonly tenant: string;
  readonly agent_id: string;
  readonly hour: string;
  readonly costs: Map<string, number>;
  readonly pending: Set<string>;
  isDue: boolean;
};

const MAX_SESSIONS = 1_000;
const HOUR_MS = 3_600_000;
const MAX_KNOWN_LIMITS = 10_000;

/** How long usage is kept in memory. At its start, the reactor reads the events of this period. */
export const COUNTED_MS = 2 * HOUR_MS;

/** Null if the agent has no limit. */
type LimitOf = (ctx: ReactorCtx, agent_id: string) => Promise<number | null>;

const presentLimit: LimitOf = async (ctx, agent_id) => (await ctx.load(Agent, agent_id)).state.hourly_limit_micros;

/** Without a limit, the costs stay in memory, because the agent can get a limit during the hour. */
const recordHour = async (ctx: ReactorCtx, counted: AgentHour, at: string, limitOf: LimitOf): Promise<void> => {
  counted.isDue = false;
  const { agent_id, hour, costs, pending } = counted;
  const limit_micros = await limitOf(ctx, agent_id);
  if (limit_micros === null) return;
  const id = BudgetHour.budgetHourId(agent_id, hour);
  do {
    const sessions = [...pending].slice(0, MAX_SESSIONS).map((session_id) => ({ session_id, cost_micros: costs.get(session_id)! }));
    await ctx.transact(BudgetHour, id, BudgetHour.countUsage(sessions, { agent_id, limit_micros, at }, hour));
    for (const { session_id, cost_micros } of sessions) if (costs.get(session_id) === cost_micros) pending.delete(session_id);
    if (sessions.length < MAX_SESSIONS) return;
  } while (pending.size > 0);
};

/**
 * Adds up costs by agent, hour and session, and records the totals. A total only increases: recording again, two processes that count, or
 * reading the hour's events again at a start count nothing twice.
 */
export const createUsageCounter = () => {
  const hours = new Map<string, AgentHour>();
  const limits = new Map<string, Promise<number | null>>();

  /** Remembers a limit until it changes. A failed look-up is not remembered. */
  const knownLimit: LimitOf = (ctx, agent_id) => {
    const known = limits.get(agent_id);
    if (known) return known;
    if (limits.size >= MAX_KNOWN_LIMITS) limits.clear();
    const asked = presentLimit(ctx, agent_id);
    limits.set(agent_id, asked);
    asked.catch(() => limits.delete(agent_id));
    return asked;
  };

  const hourOf = (tenant: string, agent_id: string, at: string): AgentHour => {
    const key = `${tenant} ${BudgetHour.budgetHourId(agent_id, at)}`;
    const known = hours.get(key);
    if (known) return known;
    const hour = BudgetHour.hourOf(at);
    const made: AgentHour = { tenant, agent_id, hour, costs: new Map(), pending: new Set(), isDue: false };
    hours.set(key, made);
    return made;
  };

  return {
    /** `now`: the present time (RFC 3339 UTC). */
    apply: (event: CountedEvent, now: string): void => {
      if (event.type !== 'UsageRecorded') {
        limits.delete(event.id);
        hourOf(event.tenant, event.id, now).isDue = true;
        return;
      }
      const { agent_id, cost_micros } = event.data;
      if (cost_micros === 0) return;
      const counted = hourOf(event.tenant, agent_id, event.at);
      counted.costs.set(event.id, (counted.costs.get(event.id) ?? 0) + cost_micros);
      counted.pending.add(event.id);
      counted.isDue = true;
    },
    /** After a failure, the next call records it. @throws Error of the context */
    record: async (ctx: ReactorCtx): Promise<void> => {
      const now = ctx.at();
      const oldest = new Date(Date.parse(now) - COUNTED_MS).toISOString();
      for (const [key, counted] of hours) {
        if (counted.isDue)
          await recordHour(ctx.inTenant(counted.tenant), counted, now, knownLimit).catch((error: unknown) => {
            counted.isDue = true;
            throw error;
          });
        if (counted.hour < oldest) hours.delete(key);
      }
    },
  };
};
