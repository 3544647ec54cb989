import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import * as Model from '../../domain/agents/model.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import { integer } from '../../domain/fields.ts';
import { idOf, isId25 } from '../../domain/id.ts';
import { microsOf, Usd, usdOf } from '../../domain/money.ts';
import { invalid, notFound, Refusal } from '../../domain/refusal.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { Ctx, Input, Loaded } from '../context.ts';

const [MIN_TTL_SECONDS, MAX_TTL_SECONDS] = [60, 3_600];

export const BudgetReserve = z
  .strictObject({
    amount_usd: Usd.meta({ description: 'The most that will be spent, in US dollars', examples: [0.5] }),
    session_id: idOf('session', 'The session of the agent for which the amount is spent').nullable().default(null),
    model_id: idOf('model', 'The model for which the amount is spent').nullable().default(null),
    ttl_seconds: integer(MIN_TTL_SECONDS, MAX_TTL_SECONDS)
      .default(600)
      .meta({ description: 'After this time, the reservation ends by itself unless it was settled' }),
  })
  .meta({ id: 'BudgetReserve', examples: [{ amount_usd: 0.5 }] });

export const BudgetSettle = z
  .strictObject({ amount_usd: Usd.meta({ description: 'What was spent, in US dollars', examples: [0.42] }) })
  .meta({ id: 'BudgetSettle', examples: [{ amount_usd: 0.42 }] });

const reservationView = (agent_id: string, { reservation_id, amount_micros, settled_micros, expires_at }: BudgetHour.Reservation) => ({
  id: reservation_id,
  agent_id,
  hour: BudgetHour.hourOfReservation(reservation_id),
  amount_usd: usdOf(amount_micros),
  settled_usd: settled_micros === null ? null : usdOf(settled_micros),
  expires_at,
});

type Reply = Promise<Loaded<ReturnType<typeof reservationView>>>;

type Loading = Pick<Ctx, 'load' | 'at'>;

const budgetOf = async (ctx: Loading, agent_id: string): Promise<BudgetHour.Budget> => {
  const { state } = await ctx.load(Agent, agent_id);
  return { agent_id, limit_micros: state.hourly_limit_micros, at: ctx.at() };
};

/** Costs in this hour. @throws Refusal invalid if it is not a session of the agent */
const costsOf = async (ctx: Ctx, agent_id: string, session_id: string | null): Promise<BudgetHour.SessionCost[]> => {
  if (session_id === null) return [];
  const { state } = await ctx.load(Session, session_id);
  if (state.status === 'absent' || state.agent_id !== agent_id)
    throw invalid('/session_id', 'is not a session of this agent', 'unknown_session');
  return [{ session_id, cost_micros: Session.costInHour(state, ctx.at()) }];
};

const checkModel = async (ctx: Ctx, model_id: string | null): Promise<void> => {
  if (model_id !== null && !Model.isOpenTo((await ctx.load(Model, model_id)).state, ctx.tenant))
    throw invalid('/model_id', 'is not a model of this tenant', 'unknown_model');
};

/**
 * Reserves an amount of this hour's budget. Appends only if the hour's stream has not changed since it was read, so concurrent
 * reservations together cannot exceed the limit. Records a refusal, too.
 * @throws Refusal budget_exceeded, invalid
 */
export const reserveBudget = async (ctx: Ctx, input: Input<typeof BudgetReserve, 'tenant_id' | 'agent_id'>): Reply => {
  const { agent_id, amount_usd, session_id, model_id, ttl_seconds } = input;
  const { budget, costs } = await ctx.sideEffect(async () => {
    await checkModel(ctx, model_id);
    return { budget: await budgetOf(ctx, agent_id), costs: await costsOf(ctx, agent_id, session_id) };
  });
  const reservation_id = BudgetHour.reservationId(ctx.newId(), budget.at);
  const expires_at = new Date(Date.parse(budget.at) + ttl_seconds * 1_000).toISOString();
  const request = { reservation_id, amount_micros: microsOf(amount_usd), session_id, model_id, expires_at, costs };
  const id = BudgetHour.budgetHourId(agent_id, budget.at);
  try {
    const loaded = await ctx.transact(BudgetHour, id, BudgetHour.reserve(request, budget));
    return { ...loaded, state: reservationView(agent_id, loaded.state.reservations[reservation_id]!) };
  } catch (error) {
    if (error instanceof Refusal && error.code === 'budget_exceeded')
      await ctx.transact(BudgetHour, id, BudgetHour.recordRefusal(request, budget));
    throw error;
  }
};

/** @throws Refusal not_found if the caller is not a runner of the tenant */
const hourOfOwnReservation = ({ principal, tenant }: Ctx, reservation_id: string) => {
  if (principal.kind !== 'runner' || principal.tenant_id !== tenant || !isId25(reservation_id)) throw notFound();
  const { agent_id } = principal;
  return { agent_id, id: BudgetHour.budgetHourId(agent_id, BudgetHour.hourOfReservation(reservation_id)) };
};

/** Looks in the budget of the runner's own agent, so other runners do not find it. @throws Refusal not_found */
export const requireOwnReservation = async (ctx: Ctx, reservation_id: string): Promise<void> => {
  const { id } = hourOfOwnReservation(ctx, reservation_id);
  if ((await ctx.load(BudgetHour, id)).state.reservations[reservation_id]) return;
  // Read the log, because the cached state may lack a reservation that another process has just made.
  for await (const { type, data } of ctx.log.history(BudgetHour, id))
    if (type === 'BudgetReserved' && data.reservation_id === reservation_id) return;
  throw notFound();
};

/** The calling runner's agent must have the reservation. @throws Refusal not_found, conflict if it was settled with another amount */
export const settleBudget = async (ctx: Ctx, input: Input<typeof BudgetSettle, 'tenant_id' | 'reservation_id'>): Reply => {
  const { reservation_id, amount_usd } = input;
  const { agent_id, id } = hourOfOwnReservation(ctx, reservation_id);
  const budget = await ctx.sideEffect(() => budgetOf(ctx, agent_id));
  const loaded = await ctx.transact(BudgetHour, id, BudgetHour.settle(reservation_id, microsOf(amount_usd), budget));
  return { ...loaded, state: reservationView(agent_id, loaded.state.reservations[reservation_id]!) };
};

/** @throws Refusal budget_exceeded if none of this hour's budget is left */
export const requireBudget = async (ctx: Ctx, { id: agent_id, state }: Loaded<Agent.Agent>): Promise<void> => {
  const { hourly_limit_micros: limit_micros } = state;
  if (limit_micros === null) return;
  const at = ctx.at();
  const hour = await ctx.load(BudgetHour, BudgetHour.budgetHourId(agent_id, at));
  BudgetHour.assertNotSpent(hour.state, { agent_id, limit_micros, at });
};

/** The end of this hour if the budget is used up; null if some is left. */
export const budgetEnd = async (ctx: Loading, agent_id: string): Promise<string | null> => {
  const budget = await budgetOf(ctx, agent_id);
  if (budget.limit_micros === null) return null;
  const { state } = await ctx.load(BudgetHour, BudgetHour.budgetHourId(agent_id, budget.at));
  return BudgetHour.isSpent(state, budget) ? BudgetHour.hourEnd(budget.at) : null;
};

export const recordRefusedSession = async (ctx: Ctx, agent_id: string): Promise<void> => {
  const budget = await budgetOf(ctx, agent_id);
  await ctx.transact(BudgetHour, BudgetHour.budgetHourId(agent_id, budget.at), BudgetHour.refuseSession(budget));
};
